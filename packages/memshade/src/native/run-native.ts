import { UserError } from "../bytes/errors.ts";
import { dieBySignal, onSignals } from "../host/run/die-by-signal.ts";
import { assertFolderWritable, FolderClaim, writeRunFolder } from "../host/run/folder-claim.ts";
import { NOT_WRITTEN, sayNotWritten } from "../host/run/profile-failure.ts";
import { Progress } from "../host/run/progress.ts";
import { defaultOutTemplate, programName, RunFolders } from "../host/run/run-folder.ts";
import { say, sayWritten } from "../host/run/terminal-line.ts";
import { RUN_FILE, type RunEnd } from "../model/run.ts";
import type { ObjectFile } from "../objects/index.ts";
import { MemoryFile } from "./collect/memory-file.ts";
import { type RecordedProgram, recordedRun } from "./collect/recorded-run.ts";
import { type PlacedImage, placeImage } from "./image/place-image.ts";
import { checkProgram } from "./start/check-program.ts";
import { executedProgram } from "./start/executed-program.ts";
import { neededObjects } from "./start/needed-objects.ts";
import { type ProgramEnd, startProgram } from "./start/start-program.ts";
import { WantedTables } from "./tables/make-wanted.ts";
import type { TableCache } from "./tables/table-cache.ts";

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

/** So often it is seen to what the program waits for. */
const WATCH_MS = 10;

/**
 * Runs a native program, and records its allocations. SIGUSR2 writes a dump.
 *
 * @returns the program's exit code. When a signal ended it, this process dies by the same signal.
 * @throws UserError before the program has started
 */
export async function runNative(run: NativeRun): Promise<number> {
  const executed = executedProgram(run.path, run.args);
  const program = checkProgram(executed.file);
  const template = run.out ?? defaultOutTemplate(process.cwd(), programName(run.path));
  const folders = new RunFolders(template, run.out === undefined);
  const folder = folders.next(false);
  if (run.out === undefined) assertFolderWritable(folder);
  const claim = run.out === undefined ? undefined : FolderClaim.take(folder);
  let image: PlacedImage | undefined;
  let watch: MemoryWatch | undefined;
  let ended: ProgramEnd;
  let isWritten: boolean;
  try {
    image = placeImage();
    makeTables(neededObjects(program), image.tables, run.isQuiet);
    const { pid, end } = startProgram(executed, {
      LD_PRELOAD: [image.path, process.env.LD_PRELOAD].filter(Boolean).join(":"),
    });
    watch = new MemoryWatch(image, pid);
    const recorded = {
      command: [run.path, ...run.args],
      program: programName(run.path),
      file: executed.file,
    };
    const dumps = new Dumps(watch, recorded, folders);
    const stopListening = onSignals({ SIGUSR2: () => dumps.write() });
    ended = await end.finally(stopListening);
    if (ended.error !== undefined) throw new UserError(`${run.path}: ${ended.error.message}`);
    await dumps.done;
    const memory = watch.memory?.read();
    if (memory === undefined)
      say(`${run.path} has loaded nothing that could record it: no profile was written`);
    const target = { folder, claim, what: "profile", isQuiet: run.isQuiet } as const;
    isWritten = memory !== undefined && writeProfile(target, memory, recorded, endOf(ended));
  } finally {
    watch?.stop();
    image?.remove();
    claim?.release();
  }
  if (isWritten) await run.onWritten?.(folder);
  if (ended.signal !== null) dieBySignal(ended.signal);
  return isWritten ? (ended.code ?? 0) : NOT_WRITTEN;
}

/** That takes seconds for large objects, once. */
function makeTables(objects: readonly ObjectFile[], tables: TableCache, isQuiet: boolean | undefined): void {
  const missing = objects.filter((object) => !tables.has(object));
  const progress = new Progress("making tables for walking stacks, once", isQuiet ? false : undefined);
  missing.forEach((object, i) => {
    progress.show(i + 1, missing.length);
    tables.make(object);
  });
  progress.clear();
}

function endOf({ code, signal }: ProgramEnd): RunEnd {
  return signal === null ? { kind: "exit", exitCode: code ?? 0 } : { kind: "signal", signal };
}

/** The memory of the program, once there is one. Meanwhile the tables are made that it waits for. */
class MemoryWatch {
  readonly #path: string;
  readonly #wanted: WantedTables;
  readonly #timer: NodeJS.Timeout;
  #memory: MemoryFile | undefined;

  constructor({ memoryOf, tables }: PlacedImage, pid: number) {
    this.#path = memoryOf(pid);
    this.#wanted = new WantedTables(tables);
    this.#timer = setInterval(() => {
      const { memory } = this;
      if (memory !== undefined) this.#wanted.make(memory);
    }, WATCH_MS);
  }

  get memory(): MemoryFile | undefined {
    this.#memory ??= MemoryFile.open(this.#path);
    return this.#memory;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#memory?.close();
    this.#memory = undefined;
  }
}

/** Dumps while the program runs, one after the other. */
class Dumps {
  readonly #watch: MemoryWatch;
  readonly #program: RecordedProgram;
  readonly #folders: RunFolders;
  done: Promise<void> = Promise.resolve();

  constructor(watch: MemoryWatch, program: RecordedProgram, folders: RunFolders) {
    this.#watch = watch;
    this.#program = program;
    this.#folders = folders;
  }

  write(): void {
    this.done = this.done.then(async () => {
      const memory = await this.#watch.memory?.readStill();
      if (memory === undefined) {
        say("nothing has been allocated yet: no dump was written");
        return;
      }
      const target = {
        folder: this.#folders.next(true),
        claim: undefined,
        what: "dump",
        isQuiet: false,
      } as const;
      writeProfile(target, memory, this.#program, { kind: "dump" });
    });
  }
}

interface Target {
  folder: string;
  claim: FolderClaim | undefined;
  what: "profile" | "dump";
  isQuiet: boolean | undefined;
}

/** Whether what was recorded could be written. */
function writeProfile(
  { folder, claim, what, isQuiet }: Target,
  memory: SharedArrayBuffer,
  program: RecordedProgram,
  end: RunEnd,
): boolean {
  try {
    const { run, files } = recordedRun(memory, program, end);
    const all = [...files, { name: RUN_FILE, contents: `${JSON.stringify(run, null, 2)}\n` }];
    if (claim === undefined) writeRunFolder(folder, all);
    else claim.write(all);
  } catch (error) {
    sayNotWritten(folder, process.cwd(), error);
    return false;
  }
  if (isQuiet !== true) sayWritten(folder, process.cwd(), what);
  return true;
}
