const MOUNT_ALL =
  'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 125; shift 2; done; shift; exec "$@"';

/** A file, and the file that replaces it at its path. */
export interface Mount {
  original: string;
  path: string;
}

/**
 * Command prefix that replaces files at their paths for the command behind it, in a mount namespace of its own
 * that ends with the command. Every process started after the first mount sees the replacements, including `mount` itself, so a loader that
 * rewritten
 * libraries need comes first. Without root rights, it needs user namespaces.
 */
export function inPlaceOf(mounts: readonly Mount[]): string[] {
  if (mounts.length === 0) return [];
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const pairs = mounts.flatMap(({ original, path }) => [path, original]);
  return ["unshare", ...user, "--mount", "sh", "-c", MOUNT_ALL, "sh", ...pairs, "--"];
}
