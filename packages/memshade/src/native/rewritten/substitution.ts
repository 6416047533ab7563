import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getSystemErrorName } from "node:util";
import { FormatError, UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { type NativeToolName, type NativeToolOptions, nativeTool } from "../native-tool.ts";
import { cacheFolder } from "../tables/table-cache.ts";
import { LaterFiles } from "./later-files.ts";
import { type Mount, STEP, writeLauncher } from "./launcher.ts";
import { loaderCopy } from "./loader-copy.ts";
import { isRewritten, type RewrittenFile, rewriteFiles } from "./rewrite-files.ts";

/** A program that runs with rewritten files in the place of its own. */
export interface Substitution {
  /** Path of what starts it, with the program's own arguments and environment. */
  launcher: string;
  files: readonly RewrittenFile[];
  later: LaterFiles;
  /** @throws UserError in one line if it was not started, because the system refuses something */
  checkStarted: () => void;
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
const CAP_SYS_ADMIN = 21n;
const WITHOUT = "run it without --tool, which records its allocations alone";

/**
 * Rewrites a program and its libraries, and makes what starts it with these.
 *
 * @throws UserError in one line if its dynamic linker is not known
 */
export async function substitute(wanted: Substituted): Promise<Substitution> {
  const { program, tool: name, options, folder, isQuiet } = wanted;
  const tool = nativeTool(name, options);
  const linker = realpathSync(wanted.linker);
  const loader = join(folder, "loader");
  writeFileSync(loader, copyOf(linker, tool), { mode: EXECUTABLE });
  const later = new LaterFiles(realpathSync(program), cacheFolder());
  const originals = new Set([...wanted.objects.map((path) => realpathSync(path)), ...later.files]);
  originals.delete(linker);
  for (const path of [...originals, linker]) later.know(path);
  const files = await rewriteFiles([...originals], { tool: name, options, instead: folder, isQuiet });
  const mounts: Mount[] = [
    { file: loader, path: linker },
    ...files.filter(isRewritten).map(({ path, original }) => ({ file: path, path: original })),
  ];
  const launcher = join(folder, "launcher");
  const failure = join(folder, "failure");
  const ids = mayMount() ? undefined : { user: process.geteuid!(), group: process.getegid!() };
  writeFileSync(launcher, writeLauncher({ mounts, program, ids, failure }), { mode: EXECUTABLE });
  later.know(launcher);
  return { launcher, files, later, checkStarted: () => checkStarted(failure, program, mounts) };
}

function copyOf(linker: string, tool: Parameters<typeof loaderCopy>[1]): Uint8Array {
  try {
    return loaderCopy(readFileSync(linker), tool);
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

function checkStarted(failure: string, program: string, mounts: readonly Mount[]): void {
  let words: Uint8Array;
  try {
    words = readFileSync(failure);
  } catch {
    return;
  }
  const view = new DataView(words.buffer, words.byteOffset, words.length);
  const step = view.getUint32(0, true);
  const name = getSystemErrorName(-view.getUint32(4, true));
  const reason = describeSystemError(Object.assign(new Error(name), { code: name }));
  if (step === STEP.execute) throw new UserError(`${program}: the system does not start it: ${reason}`);
  const what =
    step >= STEP.mount
      ? `does not let ${mounts[step - STEP.mount]?.path} be replaced`
      : "gives out no namespace in which rewritten files can stand in the place of others";
  throw new UserError(`the system ${what}: ${reason}; ${WITHOUT}`);
}
