import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { isFromTerminal, onSignals } from "../../host/run/die-by-signal.ts";
import {
  argumentBytes,
  assertPlacesForInherited,
  closeInherited,
  environmentBytes,
  inherited,
  inheritedStdio,
  programEnvironment,
} from "../../host/run/inherited.ts";
import { signalName } from "../../host/run/signal-names.ts";
import type { ExecutedProgram } from "./executed-program.ts";
import { type Launch, placeLauncher, REPORT, REPORT_BYTES } from "./launcher.ts";

/** How a program has ended, or why it has not begun. */
export interface ProgramEnd {
  code: number | null;
  /** `SIGTERM`, `SIGRTMIN+3`. */
  signal: string | null;
  /** What has failed before it was the program. */
  failure?: StartFailure | undefined;
  /** Why it was started by `ProgramStart.otherwise`. */
  startedOtherwise?: StartFailure | undefined;
}

/** A step of the launcher (`REPORT`, or one of what it goes through first), and the system's number. */
export interface StartFailure {
  step: number;
  error: number;
}

/** A program that runs. */
export interface RunningProgram {
  /** 0 where it has not begun. */
  pid: number;
  end: Promise<ProgramEnd>;
}

/** How a program is started. */
export interface ProgramStart {
  /** Where what starts it is written, and may be run. */
  readonly folder: string;
  readonly enter?: Launch["enter"];
  /** Path of what is executed in the place of the program where `enter` fails. */
  readonly otherwise?: string | undefined;
  /** Variables that it gets beside those that are for it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The lowest bits of a status are those of a signal; the exit code comes behind them. */
const SIGNAL_BITS = 0x7f;
const CODE_AT = 8;
const CODE_BITS = 0xff;

/**
 * Starts a program with what we have inherited, and hands on the signals that end programs. A key of the terminal reaches it
 * without our help.
 */
export async function startProgram(
  { file, argv }: ExecutedProgram,
  how: ProgramStart,
): Promise<RunningProgram> {
  assertPlacesForInherited();
  const stdio = inheritedStdio();
  const reportsAt = stdio.length;
  const { enter, otherwise } = how;
  const launcher = placeLauncher(how.folder, {
    program: file,
    argv: argumentBytes(argv),
    enter,
    otherwise,
    reports: reportsAt,
    environment: environmentBytes({ ...programEnvironment(), ...how.environment }),
    inherited: inherited(),
  });
  const send = (signal: NodeJS.Signals): unknown => isFromTerminal(signal) || reports.send(signal);
  // First of all: the program runs before `spawn` returns, and a signal that ended us would leave it alone.
  const stop = onSignals({ SIGINT: send, SIGQUIT: send, SIGTERM: send, SIGHUP: send });
  const reports = new LauncherReports(
    spawn(launcher, [], { argv0: argv[0], stdio: [...stdio, "pipe"], env: {} }),
    reportsAt,
    otherwise !== undefined,
  );
  closeInherited();
  const end = reports.end.finally(stop);
  return { pid: await Promise.race([reports.started, end.then(() => 0)]), end };
}

/** What a launcher tells of the program that it has started. */
class LauncherReports {
  readonly started: Promise<number>;
  readonly end: Promise<ProgramEnd>;
  readonly #hasOther: boolean;
  #status: number | undefined;
  #failure: StartFailure | undefined;
  #startedOtherwise: StartFailure | undefined;
  #unread: Buffer = Buffer.alloc(0);

  /** @param hasOther where entering fails, the program is started in another way */
  constructor(launcher: ChildProcess, reportsAt: number, hasOther: boolean) {
    this.#hasOther = hasOther;
    this.started = new Promise((started) => {
      const reports = launcher.stdio[reportsAt] as Readable;
      reports.on("data", (bytes: Buffer) => this.#read(bytes, started));
    });
    this.end = new Promise((ended, failed) => {
      launcher.on("error", failed);
      launcher.on("close", (code, signal) => ended(this.#endOf(code, signal)));
    });
  }

  send(signal: NodeJS.Signals): void {
    void this.started.then((pid) => {
      // Its number may be another process's when it has ended.
      if (this.#status === undefined) process.kill(pid, signal);
    });
  }

  #read(bytes: Buffer, started: (pid: number) => void): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (; this.#unread.length >= REPORT_BYTES; this.#unread = this.#unread.subarray(REPORT_BYTES)) {
      const [what, value] = [this.#unread.readUint32LE(0), this.#unread.readUint32LE(4)];
      if (what === REPORT.started) started(value);
      else if (what === REPORT.ended) this.#status = value;
      else if (what >= REPORT.enter && this.#hasOther) this.#startedOtherwise = { step: what, error: value };
      else this.#failure = { step: what, error: value };
    }
  }

  /** Of the program; of the launcher, if somebody has ended that. */
  #endOf(code: number | null, signal: string | null): ProgramEnd {
    const status = this.#status;
    const start = { failure: this.#failure, startedOtherwise: this.#startedOtherwise };
    if (status === undefined) return { code, signal, ...start };
    const number = status & SIGNAL_BITS;
    if (number !== 0) return { code: null, signal: signalName(number), ...start };
    return { code: (status >> CODE_AT) & CODE_BITS, signal: null, ...start };
  }
}
