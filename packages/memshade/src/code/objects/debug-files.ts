/**
 * Paths where an object's debug information may be, in the order to try. The rules are those of GDB ("Debugging
 * Information in Separate Files"); llvm-symbolizer uses the same. Paths have slashes; no function of this file
 * opens a file.
 */

export interface DebugFilePlaces {
  /** Roots of the trees that distributions install debug information into. */
  readonly debugDirectories?: readonly string[];
  /** Path of the file system of the machine that the object ran on. */
  readonly sysroot?: string | undefined;
}

export const DEFAULT_DEBUG_DIRECTORIES: readonly string[] = ["/usr/lib/debug"];

/** `<directory>/.build-id/ab/cdef….debug` for each debug directory; empty for ids too short to be split. */
export function buildIdFileCandidates(buildId: string, places: DebugFilePlaces = {}): string[] {
  if (!/^[0-9a-f]{4,}$/.test(buildId)) return [];
  const name = `.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`;
  return debugDirectories(places).map((directory) => below(directory, name));
}

/**
 * Paths of the file that `.gnu_debuglink` names: beside the object, in `.debug/` beside it, and at the object's
 * path below each debug directory. The caller must compare the file's CRC-32 or build id.
 */
export function debugLinkCandidates(
  objectPath: string,
  linkName: string,
  places: DebugFilePlaces = {},
): string[] {
  const directory = directoryOf(objectPath);
  const inSystem = withoutPrefix(directory, places.sysroot);
  const global = inSystem.startsWith("/")
    ? debugDirectories(places).map((root) => below(below(root, inSystem), linkName))
    : [];
  const candidates = [resolve(directory, linkName), resolve(directory, `.debug/${linkName}`), ...global];
  return [...new Set(candidates)].filter((candidate) => candidate !== objectPath);
}

/** Paths of the file of `.gnu_debugaltlink`: its own path (relative to the object's folder), then by build id. */
export function debugAltLinkCandidates(
  objectPath: string,
  link: { readonly name: string; readonly buildId: string },
  places: DebugFilePlaces = {},
): string[] {
  const beside = resolve(directoryOf(objectPath), link.name);
  const rooted = places.sysroot !== undefined && link.name.startsWith("/");
  return [
    ...(rooted ? [below(places.sysroot, link.name)] : []),
    beside,
    ...buildIdFileCandidates(link.buildId, places),
  ];
}

/**
 * Paths of the package with all split units of an object: the object's name plus `.dwp`, or the debug file's name
 * plus `.dwp`, with or without `.debug`.
 */
export function dwpCandidates(objectPath: string, debugFilePath?: string): string[] {
  const paths = [objectPath];
  if (debugFilePath !== undefined) paths.push(debugFilePath, debugFilePath.replace(/\.debug$/, ""));
  return [...new Set(paths)].map((path) => `${path}.dwp`);
}

/**
 * Paths of the `.dwo` of a skeleton unit: the compiler's output path, then beside the object, for files that were
 * moved together.
 *
 * @param dwoName DW_AT_dwo_name
 * @param compilationDirectory DW_AT_comp_dir
 */
export function dwoCandidates(objectPath: string, dwoName: string, compilationDirectory: string): string[] {
  const directory = directoryOf(objectPath);
  const candidates = [
    resolve(compilationDirectory, dwoName),
    ...(dwoName.startsWith("/") ? [] : [resolve(directory, dwoName)]),
    resolve(directory, dwoName.slice(dwoName.lastIndexOf("/") + 1)),
  ];
  return [...new Set(candidates)];
}

function debugDirectories({
  debugDirectories = DEFAULT_DEBUG_DIRECTORIES,
  sysroot,
}: DebugFilePlaces): string[] {
  const own = [...debugDirectories];
  return sysroot === undefined ? own : [...own.map((directory) => below(sysroot, directory)), ...own];
}

function withoutPrefix(path: string, prefix: string | undefined): string {
  const start = prefix?.replace(/\/+$/, "");
  return start && path.startsWith(`${start}/`) ? path.slice(start.length) : path;
}

function directoryOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : slash === 0 ? "/" : path.slice(0, slash);
}

function resolve(directory: string, path: string): string {
  return path.startsWith("/") || directory === "" || directory === "." ? path : below(directory, path);
}

/** Returns the path of `path` inside of `directory`, even if `path` is absolute. */
function below(directory: string, path: string): string {
  return `${directory.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}
