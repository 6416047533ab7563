import { mkdirSync, readFileSync, realpathSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { FormatError, UserError } from "../../../ground/bytes/errors.ts";
import { cacheFolder, keepingFolder } from "../../host/run/cache-folder.ts";
import type { NativeTool, NativeToolName, NativeToolOptions } from "../native-tool.ts";
import { launcherIn } from "../start/launcher.ts";
import { kept as keptFile } from "../tables/kept.ts";
import { TableCache } from "../tables/table-cache.ts";
import { nativeTool } from "../tools/index.ts";
import type { Mount, Namespace } from "./enter-namespace.ts";
import { sumOfContent } from "./file-sums.ts";
import { LaterFiles } from "./later-files.ts";
import { loaderCopy } from "./loader-copy.ts";
import { isNamespaceDoubtful, WITHOUT } from "./namespace-problem.ts";
import { keepOriginals, tellOfOriginals } from "./original-files.ts";
import { type Redirected, redirect, tableBytesFor, withInterpreter } from "./redirections.ts";
import { Remembered } from "./remembered.ts";
import { isRewritten, type RewrittenFile, rewriteFiles } from "./rewrite-files.ts";

/** A program that runs with rewritten files in the place of its own. */
export interface Substitution {
  /** Where it is to be started. */
  namespace: Namespace;
  /** A copy of the program whose dynamic linker loads rewritten files by itself; undefined where a namespace is to be had. */
  copy: string | undefined;
  files: readonly RewrittenFile[];
  later: LaterFiles;
  /** Sums of files whose code it has read as data: these stay as they are. */
  readAsData: Remembered;
  /** Path of a file: programs that were started, a path a line. */
  started: string;
}

/** Which program with which tool. */
export interface Substituted {
  program: string;
  /** Of the dynamic linker. */
  linker: string;
  /** The program, and the libraries that it begins with. */
  objects: readonly string[];
  tool: NativeToolName;
  options: NativeToolOptions;
  /** A folder for the time of the run, where programs may lie. */
  folder: string;
  /** What may be taken of memory while files are rewritten, bytes; undefined: as much as there is. */
  memory?: number | undefined;
  isQuiet?: boolean | undefined;
}

const EXECUTABLE = 0o755;
const NAME_DIGITS = 16;
const CAP_SYS_ADMIN = 21n;

/**
 * Rewrites a program and its libraries.
 *
 * @throws UserError in one line if its dynamic linker is not known
 */
export async function substitute(wanted: Substituted): Promise<Substitution> {
  const { program, tool: name, options, folder, memory, isQuiet } = wanted;
  const tool = nativeTool(name, options);
  const linker = realpathSync(wanted.linker);
  const loader = join(folder, "loader");
  // The same file later, with what is known then.
  writeFileSync(loader, "", { mode: EXECUTABLE });
  const keeping = (name: string): string => keepingFolder(name, folder, cacheFolder());
  const later = new LaterFiles(realpathSync(program), keeping("later-files"));
  const readAsData = new Remembered(realpathSync(program), keeping("read-as-data"));
  const originals = new Set([...wanted.objects.map((path) => realpathSync(path)), ...later.files]);
  originals.delete(linker);
  for (const path of [...originals, linker, launcherIn(folder)]) later.know(path);
  const asTheyAre = new Set(readAsData.items);
  const how = { tool: name, options, instead: folder, memory, asTheyAre, isQuiet };
  const files = await rewriteFiles([...originals], how);
  for (const file of files) if (isRewritten(file)) takeTime(file);
  const replaced = files.filter(isRewritten).map(({ path, original }) => ({ file: path, path: original }));
  const copy = isNamespaceDoubtful() ? placeCopy(realpathSync(program), replaced, loader, folder) : undefined;
  const redirected = copy === undefined ? { files: [] } : { files: replaced, link: copy };
  const content = copyOf(linker, tool, redirected, new TableCache(folder).folder);
  const covers: Mount[] = [{ file: loader, path: linker }, ...replaced];
  const kept = keepOriginals(folder, covers);
  // Whoever opens the copy is given the program by its own path.
  const copies = copy === undefined ? [] : [copy];
  const started = join(folder, "started");
  writeFileSync(started, "");
  tellOfOriginals(content, [...covers, ...copies], [...kept, ...copies], started);
  writeFileSync(loader, content);
  const mounts = [...kept, ...covers];
  const ids = mayMount() ? undefined : { user: process.geteuid!(), group: process.getegid!() };
  return { namespace: { mounts, ids }, files, later, readAsData, started, copy: copy?.file };
}

/** Programs (make) tell by times what is to be made anew. */
function takeTime({ path, original }: RewrittenFile): void {
  try {
    const { atime, mtime } = statSync(original);
    if (statSync(path).mtimeMs !== mtime.getTime()) utimesSync(path, atime, mtime);
  } catch {
    // Somebody else owns the cache.
  }
}

/** Writes what the program is started by where there is no namespace. @returns it, with the path of the original */
function placeCopy(program: string, replaced: readonly Mount[], loader: string, folder: string): Mount {
  const { file } = replaced.find(({ path }) => path === program) ?? { file: program };
  const ownFolder = join(folder, "program");
  mkdirSync(ownFolder);
  const copy = join(ownFolder, basename(program));
  writeFileSync(copy, withInterpreter(readFileSync(file), loader), { mode: EXECUTABLE });
  return { file: copy, path: program };
}

/** @param keeping folder that it is kept in: to make it takes tables of all instructions */
function copyOf(
  linker: string,
  { shadows, slowPaths }: NativeTool,
  redirected: Redirected,
  keeping: string,
): Uint8Array {
  try {
    const content = readFileSync(linker);
    const tableBytes = tableBytesFor(redirected.files);
    const about = `${sumOfContent(content)}${JSON.stringify([shadows, slowPaths, tableBytes])}`;
    const name = `loader-${sumOfContent(Buffer.from(about)).slice(0, NAME_DIGITS)}`;
    const copy = keptFile(keeping, name, () => loaderCopy(content, { shadows, slowPaths }, tableBytes));
    redirect(copy, redirected, tableBytes);
    return copy;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new UserError(`${linker}: ${error.detail}, and programs cannot be rewritten without; ${WITHOUT}`);
  }
}

/** Whether this process may mount in a namespace that is no new one of users. */
function mayMount(): boolean {
  const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1")) ?? [];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n) === 1n;
}
