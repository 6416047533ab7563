import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../aot/index.ts";
import { bytesOfBase64 } from "../bytes/base64.ts";
import { UserError } from "../bytes/errors.ts";
import { dieBySignal } from "../host/run/die-by-signal.ts";
import { assertFolderWritable, FolderClaim, writeRunFolder } from "../host/run/folder-claim.ts";
import { NOT_WRITTEN, sayNotWritten } from "../host/run/profile-failure.ts";
import { defaultOutTemplate, programName, RunFolders } from "../host/run/run-folder.ts";
import { say, sayWritten } from "../host/run/terminal-line.ts";
import { RUN_FILE } from "../model/run.ts";
import { readMemory } from "./collect/read-memory.ts";
import { recordedRun } from "./collect/recorded-run.ts";
import { buildImage } from "./image/build-image.ts";
import { NATIVE_RUNTIME_BASE64 } from "./runtime.generated.ts";
import { checkProgram } from "./start/check-program.ts";
import { executedProgram } from "./start/executed-program.ts";
import { neededObjects } from "./start/needed-objects.ts";
import { type ProgramEnd, startProgram } from "./start/start-program.ts";
import { TableCache } from "./tables/table-cache.ts";

export interface NativeRun {
  /** The program as it was typed: a path, or a name in PATH. */
  path: string;
  args: readonly string[];
  /** Template of the run folder, see `expandOutTemplate`. */
  out?: string | undefined;
  /** Where a profile was written is not said. */
  isQuiet?: boolean | undefined;
  /** Is told of the folder of the profile, when everything else has been said. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/** Where memory that processes share is never written to a disk. */
const SHARED_MEMORY = "/dev/shm";
/** With less room there, tables might not fit: then the folder for temporary files has them. */
const LEAST_SHARED_BYTES = 2 ** 30;
/** What a shell says of a program that it could not start. */
const NOT_STARTED = 127;

/**
 * Runs a native program, and records its allocations.
 *
 * @returns the program's exit code. When a signal ended it, this process dies by the same signal.
 * @throws UserError before the program has started
 */
export async function runNative(run: NativeRun): Promise<number> {
  const executed = executedProgram(run.path, run.args);
  const program = checkProgram(executed.file);
  const cwd = process.cwd();
  const folder = new RunFolders(
    run.out ?? defaultOutTemplate(cwd, programName(run.path)),
    run.out === undefined,
  ).next(false);
  if (run.out === undefined) assertFolderWritable(folder);
  const claim = run.out === undefined ? undefined : FolderClaim.take(folder);
  const place = mkdtempSync(join(tmpdir(), "memshade-"));
  const shared = hasRoom(SHARED_MEMORY) ? mkdtempSync(join(SHARED_MEMORY, "memshade-")) : place;
  let ended: ProgramEnd;
  let isWritten: boolean;
  try {
    const tables = new TableCache();
    for (const object of neededObjects(program)) tables.make(object);
    const image = join(place, "memshade.so");
    const memory = join(shared, "heap.");
    const code = compile(bytesOfBase64(NATIVE_RUNTIME_BASE64));
    writeFileSync(image, buildImage(code, { memory, tables: tables.prefix, image }));
    const { pid, end } = startProgram(executed, {
      LD_PRELOAD: [image, process.env.LD_PRELOAD].filter(Boolean).join(":"),
    });
    ended = await end;
    if (ended.error !== undefined) throw new UserError(`${run.path}: ${ended.error.message}`);
    isWritten = write(run, `${memory}${pid}`, { folder, claim, cwd, file: executed.file }, ended);
  } finally {
    claim?.release();
    for (const temporary of [place, shared]) rmSync(temporary, { recursive: true, force: true });
  }
  if (isWritten) await run.onWritten?.(folder);
  if (ended.signal !== null) dieBySignal(ended.signal);
  return isWritten ? (ended.code ?? NOT_STARTED) : NOT_WRITTEN;
}

interface Target {
  folder: string;
  claim: FolderClaim | undefined;
  cwd: string;
  /** The file that ran. */
  file: string;
}

/** Whether what was recorded could be written. */
function write(
  run: NativeRun,
  memory: string,
  { folder, claim, cwd, file }: Target,
  { code, signal }: ProgramEnd,
): boolean {
  try {
    const recorded = recordedRun(
      readMemory(memory),
      { command: [run.path, ...run.args], program: programName(run.path), file },
      signal === null ? { kind: "exit", exitCode: code ?? 0 } : { kind: "signal", signal },
    );
    const files = [
      ...recorded.files,
      { name: RUN_FILE, contents: `${JSON.stringify(recorded.run, null, 2)}\n` },
    ];
    if (claim === undefined) writeRunFolder(folder, files);
    else claim.write(files);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      say(`${run.path} has loaded nothing that could record it: no profile was written`);
    else sayNotWritten(folder, cwd, error);
    return false;
  }
  if (run.isQuiet !== true) sayWritten(folder, cwd, "profile");
  return true;
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= LEAST_SHARED_BYTES;
  } catch {
    return false;
  }
}
