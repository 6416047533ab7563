import { resolve as absolutePath, basename } from "node:path";
import { Worker } from "node:worker_threads";
import { decodeModule, functionType } from "../../../code/wasm/index.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { counted } from "../../../profile/model/counted.ts";
import type { RunEnd } from "../../../profile/model/run.ts";
import { OUT_OF_REACH } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import { type ToolOptions, toInstrumentOptions } from "../../tools/run-options.ts";
import type { InstanceHandle } from "../../tools/session.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { memoryShortage, memoryWarning, watchMemory } from "../memory-need.ts";
import { withEngineFlags } from "../module/engine-flags.ts";
import { FileLines } from "../module/file-lines.ts";
import { ModuleCache } from "../module/module-cache.ts";
import { initialMemory, nameFileInErrors, readModuleFile } from "../module/module-file.ts";
import { moduleTypes } from "../module/module-types.ts";
import { removeLeftControlFolders } from "../node/control-folder.ts";
import { addressShortage } from "../run/address-room.ts";
import { beforeRecording } from "../run/die-by-signal.ts";
import { FolderClaim } from "../run/folder-claim.ts";
import { takeRun } from "../run/measured.ts";
import { NOT_WRITTEN, sayInterrupted, sayNotWritten } from "../run/profile-failure.ts";
import { Recorder, watchCounters } from "../run/recorder.ts";
import { programName } from "../run/run-folder.ts";
import { EndSignals, type RunOutcome, type RunPlace, supervise } from "../run/supervise.ts";
import { say, sayWritten } from "../run/terminal-line.ts";
import { threadMs } from "../run/thread-time.ts";
import { siblingModule } from "../sibling-module.ts";
import type { WasiMessage, WasiProgram } from "./messages.ts";

/** Exit code of a trap, as if by abort(): 128 + SIGABRT, as in other WebAssembly runtimes. */
export const TRAP_EXIT_CODE = 134;

/** Stack for deep recursion: instrumented frames are larger, and Node's own main thread has about 1 MB. */
const PROGRAM_STACK_MB = 16;

/** Time for a program to stop at a signal, before its tables are read anyway. */
const STOP_WITHIN_MS = 500;

export interface WasiRun {
  /** Path of the module as it was typed. */
  path: string;
  args: readonly string[];
  env: Record<string, string>;
  /** Guest path to host path. */
  preopens: Record<string, string>;
  /** Function to call instead of `_start`. */
  invoke?: string | undefined;
  /** Template of the run folder, see `expandOutTemplate`. */
  out?: string | undefined;
  /** Do not print where a profile was written. */
  isQuiet?: boolean | undefined;
  tools: ToolOptions;
  /** Called with the folder of the final profile, after all messages were printed. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/**
 * Runs a WASI program under the profiler and writes its profile.
 * @returns the exit code for this process. When a signal ends the run, the process dies by that signal instead.
 * @throws UserError before the program has started.
 */
export async function runWasi(run: WasiRun): Promise<number> {
  const name = basename(run.path);
  const program = await loadWasiModule(run.path, name, run.tools, run.invoke);
  if (program.kind === "reactor" && run.invoke === undefined)
    say(
      `${name} is a WASI reactor (a library): only its _initialize runs; call a function with --invoke NAME`,
    );
  const warning = run.isQuiet === true ? undefined : memoryWarning(run.tools);
  if (warning !== undefined) say(warning);
  const lines = new FileLines((sentence) => recorder.note(sentence));
  lines.learn(program.original, absolutePath(run.path));
  const recorder: Recorder = new Recorder({
    tools: run.tools,
    command: [run.path, ...run.args],
    program: programName(run.path),
    observesHost: true,
    linesOf: lines.linesOf,
    typesOf: moduleTypes,
  });
  removeLeftControlFolders();
  const { out, onWritten } = run;
  return supervise({ out, program: programName(run.path), isHeld: out !== undefined, onWritten }, (place) => {
    watchCounters(recorder);
    return new WasiSupervisor(run, program, recorder, place).run();
  });
}

/** Supervises the program's thread, and writes its profiles. */
class WasiSupervisor {
  readonly #run: WasiRun;
  readonly #name: string;
  readonly #program: WasiModule;
  readonly #recorder: Recorder;
  readonly #place: RunPlace;
  #handle: InstanceHandle | undefined;
  /** Writes of profiles, one after the other. */
  #writing: Promise<void> = Promise.resolve();
  #isComplete = true;
  #isInterrupted = false;
  #written: string | undefined;

  constructor(run: WasiRun, program: WasiModule, recorder: Recorder, place: RunPlace) {
    this.#run = run;
    this.#name = basename(run.path);
    this.#program = program;
    this.#recorder = recorder;
    this.#place = place;
  }

  async run(): Promise<RunOutcome> {
    const worker = startProgram(this.#run, this.#name, this.#program);
    let stop!: () => void;
    const stopped = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined);
    });
    const signals = new EndSignals(stop, () => {
      this.#isInterrupted = true;
    });
    const stopWatching = watchMemory(this.#run.tools, say);
    const stopListening = signals.listen(() => this.#write({ kind: "dump" }));
    const end = await Promise.race([this.#endOf(worker), stopped]);
    if (end === undefined) {
      // Waits for the last messages, but not for a program that is in a blocking read.
      await Promise.race([worker.terminate(), new Promise((done) => setTimeout(done, STOP_WITHIN_MS))]);
      const signal = signals.signal!;
      if (this.#handle === undefined) say(beforeRecording(signal));
      else await this.#write({ kind: "signal", signal });
    } else {
      const shortage =
        end.kind === "exception" && this.#handle === undefined
          ? addressShortage(end.message ?? "")
          : undefined;
      if (shortage !== undefined) throw shortage;
      if (end.kind !== "exit")
        say(`${this.#name} ${end.kind === "trap" ? "trapped" : "failed"}: ${end.message}`);
      await this.#write({ ...end, exitCode: exitCodeOf(end) });
    }
    stopWatching();
    stopListening();
    const written = this.#written;
    if (!this.#isComplete && !this.#isInterrupted) return { code: NOT_WRITTEN, written };
    const { signal } = signals;
    return { code: signal === undefined ? exitCodeOf(end!) : 0, signal, written };
  }

  #endOf(worker: Worker): Promise<RunEnd> {
    return new Promise((ended) => {
      worker.on("message", (message: WasiMessage) => {
        if (message.kind === "instance") {
          this.#handle = this.#recorder.addInstance(
            message.memories,
            this.#program.info,
            this.#program.original,
            absolutePath(this.#run.path),
          );
          this.#recorder.setReach(this.#handle, OUT_OF_REACH);
        } else if (message.kind === "flush") {
          if (this.#handle !== undefined) this.#recorder.flush(this.#handle);
          Atomics.store(message.answer, 0, 1);
          Atomics.notify(message.answer, 0);
        } else if (message.kind === "reach") {
          if (this.#handle !== undefined) this.#recorder.setReach(this.#handle, message.reach);
        } else if (message.kind === "result") say(`${this.#run.invoke} returned ${message.text}`);
        else ended(message.end);
      });
      worker.on("error", (error) => ended({ kind: "exception", message: error.message }));
      worker.on("exit", () => ended({ kind: "exception", message: "the program's thread ended early" }));
    });
  }

  #write(end: RunEnd): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeNow(end));
    return this.#writing;
  }

  async #writeNow(end: RunEnd): Promise<void> {
    const isDump = end.kind === "dump";
    let folder = "its folder";
    try {
      folder = this.#place.folders.next(isDump);
      const held = this.#place.claim?.folder === folder ? this.#place.claim : undefined;
      const claim = held ?? FolderClaim.take(folder);
      try {
        await this.#writeInto(claim, end);
      } finally {
        if (held === undefined) claim.release();
      }
    } catch (error) {
      this.#isComplete = false;
      if (error instanceof Interrupted) sayInterrupted(folder, process.cwd());
      else sayNotWritten(folder, process.cwd(), error);
      return;
    }
    if (!isDump) this.#written = folder;
    if (this.#run.isQuiet !== true) sayWritten(folder, process.cwd(), isDump ? "dump" : "profile");
  }

  /** @throws Interrupted after a second signal. */
  async #writeInto(claim: FolderClaim, end: RunEnd): Promise<void> {
    await this.#letSignalsIn();
    const { profile, files } = takeRun(this.#recorder, end, this.#program.rewritingMs);
    profile.warnings.forEach(say);
    for (const _ of claim.pieces(files)) await this.#letSignalsIn();
    if (end.kind !== "dump" && !new LearnedRuns(this.#run.tools.learn).keep(profile.siteRuns))
      this.#isComplete = false;
  }

  async #letSignalsIn(): Promise<void> {
    await new Promise((done) => setImmediate(done));
    if (this.#isInterrupted) throw new Interrupted();
  }
}

class Interrupted extends Error {}

function exitCodeOf(end: RunEnd): number {
  return end.kind === "exit" ? (end.exitCode ?? 0) : TRAP_EXIT_CODE;
}

function startProgram(run: WasiRun, name: string, program: WasiModule): Worker {
  const { module, info, original, version, invokeParameters } = program;
  const workerData: WasiProgram = {
    module,
    info,
    original,
    version,
    args: [name, ...run.args],
    env: run.env,
    preopens: run.preopens,
    invoke:
      run.invoke === undefined
        ? undefined
        : { name: run.invoke, values: invokeValues(run, invokeParameters!) },
  };
  return new Worker(siblingModule(import.meta.url, "program-thread"), {
    workerData,
    execArgv: [],
    // Separate pipes, left unread: connecting them would make this thread open and reconfigure ours.
    stdout: true,
    stderr: true,
    resourceLimits: { stackSizeMb: PROGRAM_STACK_MB },
  });
}

const I64 = 0x7e;

function invokeValues(run: WasiRun, parameters: readonly number[]): (number | bigint)[] {
  if (run.args.length !== parameters.length)
    throw new UserError(
      `${run.invoke} takes ${counted(parameters.length, "argument")}, ${run.args.length} given`,
    );
  return parameters.map((type, i) => {
    try {
      const value = type === I64 ? BigInt(run.args[i]) : Number(run.args[i]);
      if (!Number.isNaN(value)) return value;
    } catch {
      // The value is no integer literal; the error follows below.
    }
    throw new UserError(`--invoke ${run.invoke}: ${run.args[i]} is not a number`);
  });
}

const WASI_VERSIONS = { wasi_snapshot_preview1: "preview1", wasi_unstable: "unstable" } as const;

/** Instrumented and compiled WASI program, with all facts known before it runs. */
interface WasiModule {
  module: WebAssembly.Module;
  info: InstrumentedInfo;
  original: Uint8Array;
  rewritingMs: number;
  version: "preview1" | "unstable";
  /** Value type bytes of the parameters of the function to invoke, if one was named. */
  invokeParameters: number[] | undefined;
  /** "command" has `_start`; "reactor" has none: it is a library whose functions are called from outside. */
  kind: "command" | "reactor";
}

/**
 * Reads, checks, instruments and compiles a WASI program.
 * @throws UserError when it cannot run here: the reason in one line.
 */
async function loadWasiModule(
  path: string,
  name: string,
  tools: ToolOptions,
  invoke: string | undefined,
): Promise<WasiModule> {
  const original = readModuleFile(path);
  const shortage = memoryShortage(() => nameFileInErrors(path, () => initialMemory(original)), tools);
  if (shortage !== undefined)
    throw new UserError(`${path}: its memory begins with ${shortage.figures}: ${shortage.help}`);
  const start = threadMs();
  const { bytes, info } = nameFileInErrors(path, () =>
    new ModuleCache(tools.cache).instrument(original, {
      ...new LearnedRuns(tools.learn).added(toInstrumentOptions(tools), original),
      name,
      sharedShadow: true,
    }),
  );
  const rewritingMs = threadMs() - start;
  const module = await compileOrExplain(path, bytes);
  const version = checkImports(path, module);
  const exported = new Map(WebAssembly.Module.exports(module).map((entry) => [entry.name, entry.kind]));
  const kind = exported.get("_start") === "function" ? "command" : "reactor";
  if (invoke !== undefined && exported.get(invoke) !== "function")
    throw new UserError(`${path}: it exports no function named ${invoke}`);
  if (invoke === undefined && kind === "reactor" && exported.get("_initialize") !== "function")
    throw new UserError(
      `${path}: not a WASI program: it exports neither _start nor _initialize; name a function to call with --invoke`,
    );
  const invokeParameters = invoke === undefined ? undefined : parametersOfExport(original, invoke);
  return { module, info, original, rewritingMs, version, invokeParameters, kind };
}

async function compileOrExplain(path: string, bytes: Uint8Array): Promise<WebAssembly.Module> {
  try {
    return await withEngineFlags(() => WebAssembly.compile(bytes as BufferSource));
  } catch (error) {
    const reason = (error as Error).message.replace(/^WebAssembly\.\w+\(\): /, "");
    throw new UserError(`${path}: the instrumented module is not valid (a defect of memshade): ${reason}`);
  }
}

function checkImports(path: string, module: WebAssembly.Module): "preview1" | "unstable" {
  let version: "preview1" | "unstable" | undefined;
  for (const entry of WebAssembly.Module.imports(module)) {
    const wanted = WASI_VERSIONS[entry.module as keyof typeof WASI_VERSIONS];
    if (wanted === undefined || entry.kind !== "function" || (version ?? wanted) !== wanted)
      throw new UserError(
        `${path}: it imports the ${entry.kind} ${entry.module}.${entry.name}, which a WASI preview 1 program does not ` +
          "have here; run it with its JavaScript under memshade node",
      );
    version = wanted;
  }
  return version ?? "preview1";
}

function parametersOfExport(original: Uint8Array, name: string): number[] {
  const module = decodeModule(original);
  const entry = module.exports.find((candidate) => candidate.name === name)!;
  return functionType(module, entry.index).params;
}
