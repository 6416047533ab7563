import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import { isIgnored } from "./inherited.ts";
import { say } from "./terminal-line.ts";

/** SIGRTMIN of the C library, which reserves the two before it. */
const FIRST_REAL_TIME = 34;
const REAL_TIME = /^SIGRTMIN\+(\d+)$/;

/** If a number has two names, the one that is first in `constants` wins: SIGABRT, not SIGIOT. */
const NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

export function signalName(number: number): string {
  const fallback = number < FIRST_REAL_TIME ? `SIG${number}` : `SIGRTMIN+${number - FIRST_REAL_TIME}`;
  return NAMES.get(number) ?? fallback;
}

/** Returns the number of a signal; 0 if there is none with that name. */
export function signalNumber(name: string): number {
  const [, realTime] = REAL_TIME.exec(name) ?? [];
  if (realTime !== undefined) return FIRST_REAL_TIME + Number(realTime);
  return constants.signals[name as NodeJS.Signals] ?? 0;
}

/** A signal sent both to a process and to its group arrives twice. Within this time it counts as one. */
export const SAME_SIGNAL_MS = 500;

const ENDS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Ends this process with a message on deadly signals, while no other listener exists. A signal that arrives while the
 * thread is busy goes to the listener that is there then; without any listener, Node would drop it.
 */
export function endEarly(): void {
  for (const signal of ENDS) process.on(signal, endUnheard);
}

function endUnheard(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  say(beforeRecording(signal));
  dieBySignal(signal);
}

/** Returns the message for a signal that arrives before anything was recorded. */
export function beforeRecording(signal: NodeJS.Signals): string {
  return `ended by ${signal} before anything was recorded`;
}

/**
 * Listens to signals during a run, except those that this process must ignore. Returns a function that stops listening.
 */
export function onSignals(handlers: SignalHandlers): () => void {
  const stop = listenTo(handlers);
  for (const signal of ENDS) if (handlers[signal] !== undefined) process.off(signal, endUnheard);
  return stop;
}

type SignalHandlers = Partial<Record<NodeJS.Signals, (signal: NodeJS.Signals) => unknown>>;

function listenTo(handlers: SignalHandlers): () => void {
  const allEntries = Object.entries(handlers) as [NodeJS.Signals, (signal: NodeJS.Signals) => void][];
  const entries = allEntries.filter(([signal]) => !isIgnored(signal));
  for (const [signal, handler] of entries) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of entries) process.off(signal, handler);
  };
}

/** Thrown if a signal has ended the preparation of a run. */
export class EndedBySignal extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.name = "EndedBySignal";
    this.signal = signal;
  }
}

/**
 * Runs a preparation and gives it up if a signal arrives. The caller can then remove what exists of it.
 * @throws EndedBySignal
 */
export async function unlessSignalled<T>(prepare: () => Promise<T>): Promise<T> {
  let stop = (): void => {};
  const signalled = new Promise<never>((_done, failed) => {
    const end = (signal: NodeJS.Signals): void => failed(new EndedBySignal(signal));
    stop = listenTo({ SIGINT: end, SIGTERM: end, SIGHUP: end });
  });
  try {
    return await Promise.race([prepare().then(afterSignalChecks), signalled]);
  } finally {
    stop();
  }
}

/** Node checks for signals once per turn. This turn's check may be over already. */
async function afterSignalChecks<T>(prepared: T): Promise<T> {
  for (let turns = 0; turns < 2; turns++) await new Promise((done) => setImmediate(done));
  return prepared;
}

/** True if a signal probably comes from a terminal's key: then all processes in the foreground have received it. */
export function isFromTerminal(signal: NodeJS.Signals): boolean {
  return (signal === "SIGINT" || signal === "SIGQUIT") && [0, 1, 2].some((fd) => isatty(fd));
}

/** Signals with an action of Node's own: it ignores the first, and starts a debugger on the second. */
const TAKEN_BY_NODE: readonly string[] = ["SIGPIPE", "SIGUSR1"];

/** Signals with a core dump. Ours would be in the place of the program's: gigabytes of no use. */
const WITH_CORE: readonly string[] = [
  "SIGABRT",
  "SIGBUS",
  "SIGFPE",
  "SIGILL",
  "SIGQUIT",
  "SIGSEGV",
  "SIGSYS",
  "SIGTRAP",
];

/**
 * Sets a limit of one byte, which is too small for any core. It also keeps the system from piping the core to a
 * program.
 */
function leaveNoCore(): void {
  spawnSync("prlimit", ["--core=1:", "--pid", `${process.pid}`], { stdio: "ignore" });
}

/**
 * Ends this process by a signal, so that its parent sees the same as for a program without handlers (a shell shows 128
 * + the signal's number).
 * @param signal its name, also `SIGRTMIN+3`
 */
export function dieBySignal(signal: string): void {
  const number = signalNumber(signal);
  // Removing the last listener restores the default action.
  if (TAKEN_BY_NODE.includes(signal)) process.on(signal, () => undefined);
  process.removeAllListeners(signal);
  if (process.platform === "linux" && WITH_CORE.includes(signal)) leaveNoCore();
  process.kill(process.pid, number);
  // The kernel does not let the first process of a container die by a default action.
  setTimeout(() => process.exit(128 + number), 1000);
}
