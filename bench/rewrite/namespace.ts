const MOUNT_ALL =
  'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 125; shift 2; done; shift; exec "$@"';

/** A file, and the one that is to be found at its path. */
export interface Mount {
  original: string;
  path: string;
}

/**
 * What stands in front of a command that is to see other files in the place of some, at the same paths: a mount namespace of its own,
 * which ends with it. Everything started behind the first mount sees them too, `mount` itself included, so a loader that rewritten
 * libraries need stands first. Who is not root needs user namespaces.
 */
export function inPlaceOf(mounts: readonly Mount[]): string[] {
  if (mounts.length === 0) return [];
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const pairs = mounts.flatMap(({ original, path }) => [path, original]);
  return ["unshare", ...user, "--mount", "sh", "-c", MOUNT_ALL, "sh", ...pairs, "--"];
}
