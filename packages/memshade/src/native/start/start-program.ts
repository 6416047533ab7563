import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { isFromTerminal, onSignals } from "../../host/run/die-by-signal.ts";
import { signalName } from "../../host/run/signal-names.ts";
import type { ExecutedProgram } from "./executed-program.ts";
import { REPORT, REPORT_BYTES, REPORTS } from "./launcher.ts";

/** How a program has ended, or why it has not begun. */
export interface ProgramEnd {
  code: number | null;
  /** `SIGTERM`, `SIGRTMIN+3`. */
  signal: string | null;
  /** What has failed before it was the program. */
  failure?: StartFailure | undefined;
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

/** The lowest bits of a status are those of a signal; the exit code comes behind them. */
const SIGNAL_BITS = 0x7f;
const CODE_AT = 8;
const CODE_BITS = 0xff;

/**
 * Starts a program on our own standard streams, and hands on the signals that end programs. A key of the terminal reaches it
 * without our help.
 *
 * @param launcher path of what starts it, see `writeLauncher` @param environment what it gets beside our own
 */
export async function startProgram(
  launcher: string,
  { argv }: ExecutedProgram,
  environment: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const send = (signal: NodeJS.Signals): unknown => isFromTerminal(signal) || reports.send(signal);
  // First of all: the program runs before `spawn` returns, and a signal that ended us would leave it alone.
  const stop = onSignals({ SIGINT: send, SIGQUIT: send, SIGTERM: send, SIGHUP: send });
  const reports = new LauncherReports(
    spawn(launcher, argv.slice(1), {
      argv0: argv[0],
      stdio: ["inherit", "inherit", "inherit", "pipe"],
      env: { ...process.env, ...environment },
    }),
  );
  const end = reports.end.finally(stop);
  return { pid: await Promise.race([reports.started, end.then(() => 0)]), end };
}

/** What a launcher tells of the program that it has started. */
class LauncherReports {
  readonly started: Promise<number>;
  readonly end: Promise<ProgramEnd>;
  #status: number | undefined;
  #failure: StartFailure | undefined;
  #unread: Buffer = Buffer.alloc(0);

  constructor(launcher: ChildProcess) {
    this.started = new Promise((started) => {
      const reports = launcher.stdio[REPORTS] as Readable;
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
      else this.#failure = { step: what, error: value };
    }
  }

  /** Of the program; of the launcher, if somebody has ended that. */
  #endOf(code: number | null, signal: string | null): ProgramEnd {
    const failure = this.#failure;
    const status = this.#status;
    if (status === undefined) return { code, signal, failure };
    const number = status & SIGNAL_BITS;
    if (number !== 0) return { code: null, signal: signalName(number), failure };
    return { code: (status >> CODE_AT) & CODE_BITS, signal: null, failure };
  }
}
