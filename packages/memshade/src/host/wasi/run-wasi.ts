import { resolve as absolutePath, basename } from "node:path";
import { Worker } from "node:worker_threads";
import { UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { counted } from "../../model/counted.ts";
import type { RunEnd } from "../../model/run.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import type { InstanceHandle } from "../../tools/session.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { memoryWarning, watchMemory } from "../memory-need.ts";
import { moduleLines } from "../module/module-lines.ts";
import { moduleTypes } from "../module/module-types.ts";
import { dieBySignal, onSignals } from "../run/die-by-signal.ts";
import { profileFiles, Recorder } from "../run/recorder.ts";
import {
  assertFolderWritable,
  defaultOutTemplate,
  programName,
  RunFolders,
  writeRunFolder,
} from "../run/run-folder.ts";
import { say, sayWritten } from "../run/terminal-line.ts";
import { siblingModule } from "../sibling-module.ts";
import type { WasiMessage, WasiProgram } from "./messages.ts";
import { loadWasiModule, type WasiModule } from "./wasi-module.ts";

/** A trap ends the process as if by abort(): 128 + SIGABRT, as other WebAssembly runtimes do. */
export const TRAP_EXIT_CODE = 134;

/** Room for deep recursion: instrumented frames are larger, and Node's own main thread has about 1 MB. */
const PROGRAM_STACK_MB = 16;

/** How long a program may take to stop at a signal before its tables are read as they are. */
const STOP_WITHIN_MS = 500;
const SAME_SIGNAL_MS = 500;

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
  tools: ToolOptions;
}

/**
 * Runs a WASI program under the profiler and writes its profile.
 *
 * @returns the exit code for this process. When a signal ends the run, the process dies by that signal instead.
 * @throws UserError before the program has started.
 */
export async function runWasi(run: WasiRun): Promise<number> {
  const name = basename(run.path);
  const folders = new RunFolders(run.out ?? defaultOutTemplate(process.cwd(), programName(run.path)));
  const program = await loadWasiModule(run.path, name, run.tools, run.invoke);
  assertFolderWritable(folders.next(false));
  if (program.kind === "reactor" && run.invoke === undefined) {
    say(
      `${name} is a WASI reactor (a library): only its _initialize runs; call a function with --invoke NAME`,
    );
  }
  const warning = memoryWarning(run.tools);
  if (warning !== undefined) say(warning);
  const recorder = new Recorder({
    tools: run.tools,
    command: [run.path, ...run.args],
    program: programName(run.path),
    linesOf: moduleLines,
    typesOf: moduleTypes,
  });
  return supervise(run, name, program, recorder, folders);
}

async function supervise(
  run: WasiRun,
  name: string,
  program: WasiModule,
  recorder: Recorder,
  folders: RunFolders,
): Promise<number> {
  const worker = startProgram(run, name, program);
  let handle: InstanceHandle | undefined;

  const write = (end: RunEnd): boolean => {
    const folder = folders.next(end.kind === "dump");
    try {
      const profile = recorder.takeProfile(end);
      writeRunFolder(folder, profileFiles(profile));
      if (end.kind !== "dump") new LearnedRuns(run.tools.learn).keep(profile.siteRuns);
    } catch (error) {
      say(`cannot write the profile to ${folder}: ${describeSystemError(error)}`);
      return false;
    }
    sayWritten(folder, process.cwd(), end.kind === "dump" ? "dump" : "profile");
    return true;
  };

  let stopping = false;
  let stoppedAt = 0;
  const stopBySignal = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) {
      // Some send a signal to the process and to its group: only a later one wants an end without a profile.
      if (performance.now() - stoppedAt < SAME_SIGNAL_MS) return;
      stopListening();
      dieBySignal(signal);
      return;
    }
    stopping = true;
    stoppedAt = performance.now();
    // Wait for the last messages, but not for a program that sits in a blocking read.
    await Promise.race([worker.terminate(), new Promise((done) => setTimeout(done, STOP_WITHIN_MS))]);
    write({ kind: "signal", signal });
    stopListening();
    dieBySignal(signal);
  };
  const stopWatching = watchMemory(run.tools, say);
  const stopListening = onSignals({
    SIGINT: stopBySignal,
    SIGTERM: stopBySignal,
    SIGHUP: stopBySignal,
    SIGUSR2: () => write({ kind: "dump" }),
  });

  const end = await new Promise<RunEnd>((resolve) => {
    const ended = (how: RunEnd) => {
      if (!stopping) resolve(how);
    };
    worker.on("message", (message: WasiMessage) => {
      if (message.kind === "instance") {
        handle = recorder.addInstance(
          message.memories,
          program.info,
          program.original,
          absolutePath(run.path),
        );
      } else if (message.kind === "flush") {
        if (handle !== undefined) recorder.flush(handle);
        Atomics.store(message.answer, 0, 1);
        Atomics.notify(message.answer, 0);
      } else if (message.kind === "result") {
        say(`${run.invoke} returned ${message.text}`);
      } else {
        ended(message.end);
      }
    });
    worker.on("error", (error) => ended({ kind: "exception", message: error.message }));
    worker.on("exit", () => ended({ kind: "exception", message: "the program's thread ended early" }));
  });

  stopWatching();
  stopListening();
  if (end.kind !== "exit") say(`${name} ${end.kind === "trap" ? "trapped" : "failed"}: ${end.message}`);
  const exitCode = end.kind === "exit" ? (end.exitCode ?? 0) : TRAP_EXIT_CODE;
  const written = write({ ...end, exitCode });
  return written || exitCode !== 0 ? exitCode : 1;
}

function startProgram(run: WasiRun, name: string, program: WasiModule): Worker {
  const { module, info, version, invokeParameters } = program;
  const workerData: WasiProgram = {
    module,
    info,
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
    // Pipes of its own, left unread: connecting them would make this thread open and reconfigure ours.
    stdout: true,
    stderr: true,
    resourceLimits: { stackSizeMb: PROGRAM_STACK_MB },
  });
}

const I64 = 0x7e;

function invokeValues(run: WasiRun, parameters: readonly number[]): (number | bigint)[] {
  if (run.args.length !== parameters.length) {
    throw new UserError(
      `${run.invoke} takes ${counted(parameters.length, "argument")}, ${run.args.length} given`,
    );
  }
  return parameters.map((type, i) => {
    try {
      const value = type === I64 ? BigInt(run.args[i]) : Number(run.args[i]);
      if (!Number.isNaN(value)) return value;
    } catch {
      // Not an integer literal: reported below.
    }
    throw new UserError(`--invoke ${run.invoke}: ${run.args[i]} is not a number`);
  });
}
