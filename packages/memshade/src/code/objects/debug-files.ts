/**
 * Where the debug information of an object may lie, as paths to try in order. The rules are those of GDB ("Debugging
 * Information in Separate Files"); llvm-symbolizer follows the same. Paths have slashes; nothing here opens a file.
 */

export interface DebugFilePlaces {
  /** Roots of the trees that distributions install debug information into. */
  readonly debugDirectories?: readonly string[];
  /** Where the file system of the machine lies that the object ran on. */
  readonly sysroot?: string | undefined;
}

export const DEFAULT_DEBUG_DIRECTORIES: readonly string[] = ["/usr/lib/debug"];

/** `<directory>/.build-id/ab/cdef….debug` for each debug directory; none for ids too short to be split. */
export function buildIdFileCandidates(buildId: string, places: DebugFilePlaces = {}): string[] {
  if (!/^[0-9a-f]{4,}$/.test(buildId)) return [];
  const name = `.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`;
  return debugDirectories(places).map((directory) => below(directory, name));
}

/**
 * Where the file may lie that `.gnu_debuglink` names: beside the object, in `.debug/` beside it, and at the object's
 * place below each debug directory. Whoever opens it compares its CRC-32 or build id.
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

/** Where the file of `.gnu_debugaltlink` may lie: at its path (relative to the object's folder), or by build id. */
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
 * The package with all split units of an object: the object's name with `.dwp` behind it, or that of its debug file, with or without
 * `.debug`.
 */
export function dwpCandidates(objectPath: string, debugFilePath?: string): string[] {
  const paths = [objectPath];
  if (debugFilePath !== undefined) paths.push(debugFilePath, debugFilePath.replace(/\.debug$/, ""));
  return [...new Set(paths)].map((one) => `${one}.dwp`);
}

/**
 * Where the `.dwo` of a skeleton unit may lie: where the compiler wrote it, and beside the object, for files that were
 * moved together.
 *
 * @param dwoName DW_AT_dwo_name @param compilationDirectory DW_AT_comp_dir
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

/** The debug directories, first those of the sysroot, then the ones of this machine. */
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

/** The folder of a path: `.` if it has none. */
function directoryOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : slash === 0 ? "/" : path.slice(0, slash);
}

/** `path` as seen from `directory`: absolute paths stay what they are. */
function resolve(directory: string, path: string): string {
  return path.startsWith("/") || directory === "" || directory === "." ? path : below(directory, path);
}

/** `path` inside of `directory`, absolute or not. */
function below(directory: string, path: string): string {
  return `${directory.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}
