import { readFileSync, realpathSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError, UserError } from "../../bytes/errors.ts";
import { type NativeTool, type NativeToolName, type NativeToolOptions, nativeTool } from "../native-tool.ts";
import { launcherIn } from "../start/launcher.ts";
import { kept } from "../tables/kept.ts";
import { cacheFolder, TableCache } from "../tables/table-cache.ts";
import type { Mount, Namespace } from "./enter-namespace.ts";
import { sumOfContent } from "./file-sums.ts";
import { LaterFiles } from "./later-files.ts";
import { loaderCopy } from "./loader-copy.ts";
import { isRewritten, type RewrittenFile, rewriteFiles } from "./rewrite-files.ts";

/** A program that runs with rewritten files in the place of its own. */
export interface Substitution {
  /** Where it is to be started. */
  namespace: Namespace;
  files: readonly RewrittenFile[];
  later: LaterFiles;
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
  isQuiet?: boolean | undefined;
}

const EXECUTABLE = 0o755;
const NAME_DIGITS = 16;
const CAP_SYS_ADMIN = 21n;
export const WITHOUT = "run it without --tool, which records its allocations alone";

/**
 * Rewrites a program and its libraries.
 *
 * @throws UserError in one line if its dynamic linker is not known
 */
export async function substitute(wanted: Substituted): Promise<Substitution> {
  const { program, tool: name, options, folder, isQuiet } = wanted;
  const tool = nativeTool(name, options);
  const linker = realpathSync(wanted.linker);
  const loader = join(folder, "loader");
  writeFileSync(loader, copyOf(linker, tool, new TableCache(folder).folder), { mode: EXECUTABLE });
  const later = new LaterFiles(realpathSync(program), cacheFolder());
  const originals = new Set([...wanted.objects.map((path) => realpathSync(path)), ...later.files]);
  originals.delete(linker);
  for (const path of [...originals, linker, launcherIn(folder)]) later.know(path);
  const files = await rewriteFiles([...originals], { tool: name, options, instead: folder, isQuiet });
  for (const file of files) if (isRewritten(file)) takeTime(file);
  const mounts: Mount[] = [
    { file: loader, path: linker },
    ...files.filter(isRewritten).map(({ path, original }) => ({ file: path, path: original })),
  ];
  const ids = mayMount() ? undefined : { user: process.geteuid!(), group: process.getegid!() };
  return { namespace: { mounts, ids }, files, later };
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

/** @param keeping folder that it is kept in: to make it takes tables of all instructions */
function copyOf(linker: string, { shadows, slowPaths }: NativeTool, keeping: string): Uint8Array {
  try {
    const content = readFileSync(linker);
    const about = `${sumOfContent(content)}${JSON.stringify([shadows, slowPaths])}`;
    const name = `loader-${sumOfContent(Buffer.from(about)).slice(0, NAME_DIGITS)}`;
    return kept(keeping, name, () => loaderCopy(content, { shadows, slowPaths }));
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
