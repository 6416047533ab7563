import { type ChildProcess, spawn } from "node:child_process";
import { isFromTerminal, onSignals } from "../../host/run/die-by-signal.ts";
import type { ExecutedProgram } from "./executed-program.ts";

/** How a program has ended: `error` where the system would not start it. */
export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  error?: Error;
}

/** A program that runs. */
export interface RunningProgram {
  pid: number;
  end: Promise<ProgramEnd>;
}

/**
 * Starts a program on our own standard streams, and hands on the signals that end programs. A key of the terminal reaches it
 * without our help.
 *
 * @param environment what it gets beside our own
 */
export function startProgram(
  { file, argv }: ExecutedProgram,
  environment: Readonly<Record<string, string>>,
): RunningProgram {
  const child = spawn(file, argv.slice(1), {
    argv0: argv[0],
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  const stop = onSignals({
    SIGINT: (signal) => isFromTerminal(signal) || child.kill(signal),
    SIGTERM: (signal) => child.kill(signal),
    SIGHUP: (signal) => child.kill(signal),
  });
  return { pid: child.pid ?? 0, end: endOf(child).finally(stop) };
}

function endOf(child: ChildProcess): Promise<ProgramEnd> {
  return new Promise((done) => {
    child.on("error", (error) => done({ code: null, signal: null, error }));
    child.on("exit", (code, signal) => done({ code, signal }));
  });
}
