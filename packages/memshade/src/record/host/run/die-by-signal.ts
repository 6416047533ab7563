import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import { isIgnored } from "./inherited.ts";
import { say } from "./terminal-line.ts";

/** SIGRTMIN of the C library, which keeps the two before it. */
const FIRST_REAL_TIME = 34;
const REAL_TIME = /^SIGRTMIN\+(\d+)$/;

/** Of two names of a number the one that `constants` has first: SIGABRT, not SIGIOT. */
const NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** Name of a signal of Linux: `SIGTERM`, `SIGRTMIN+3`. */
export function signalName(number: number): string {
  const other = number < FIRST_REAL_TIME ? `SIG${number}` : `SIGRTMIN+${number - FIRST_REAL_TIME}`;
  return NAMES.get(number) ?? other;
}

/** The number of a signal by its name; 0 where there is none of that name. */
export function signalNumber(name: string): number {
  const [, realTime] = REAL_TIME.exec(name) ?? [];
  if (realTime !== undefined) return FIRST_REAL_TIME + Number(realTime);
  return constants.signals[name as NodeJS.Signals] ?? 0;
}

/** Some send a signal to a process and to its group: within this time it is one signal. */
export const SAME_SIGNAL_MS = 500;

const ENDS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Before anybody listens to signals that end programs, they end this process with a line. What comes while the thread is busy is met by
 * whoever listens then: without any listener in between, Node would forget it.
 */
export function endEarly(): void {
  for (const signal of ENDS) process.on(signal, endUnheard);
}

function endUnheard(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  say(beforeRecording(signal));
  dieBySignal(signal);
}

/** What is said where a signal comes before there is anything to be written. */
export function beforeRecording(signal: NodeJS.Signals): string {
  return `ended by ${signal} before anything was recorded`;
}

/**
 * Listens to signals from here to the end of what runs, but not to those that this process is to ignore. Returns a function that stops
 * listening.
 */
export function onSignals(handlers: SignalHandlers): () => void {
  const stop = listenTo(handlers);
  for (const signal of ENDS) if (handlers[signal] !== undefined) process.off(signal, endUnheard);
  return stop;
}

type SignalHandlers = Partial<Record<NodeJS.Signals, (signal: NodeJS.Signals) => unknown>>;

function listenTo(handlers: SignalHandlers): () => void {
  const all = Object.entries(handlers) as [NodeJS.Signals, (signal: NodeJS.Signals) => void][];
  const entries = all.filter(([signal]) => !isIgnored(signal));
  for (const [signal, handler] of entries) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of entries) process.off(signal, handler);
  };
}

/** A signal has ended what was prepared. */
export class EndedBySignal extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.name = "EndedBySignal";
    this.signal = signal;
  }
}

/**
 * Prepares something that is given up where a signal wants an end: whoever calls can remove what there is of it.
 *
 * @throws EndedBySignal
 */
export async function unlessSignalled<T>(prepare: () => Promise<T>): Promise<T> {
  let stop = (): void => {};
  const signalled = new Promise<never>((_done, failed) => {
    const end = (signal: NodeJS.Signals): void => failed(new EndedBySignal(signal));
    stop = listenTo({ SIGINT: end, SIGTERM: end, SIGHUP: end });
  });
  try {
    return await Promise.race([prepare().then(metSignals), signalled]);
  } finally {
    stop();
  }
}

/** Node looks for signals once in a turn; the one that goes on here may have looked already. */
async function metSignals<T>(prepared: T): Promise<T> {
  for (let turns = 0; turns < 2; turns++) await new Promise((done) => setImmediate(done));
  return prepared;
}

/** Whether a signal comes from a terminal's key, probably: then all processes in the foreground have got it. */
export function isFromTerminal(signal: NodeJS.Signals): boolean {
  return (signal === "SIGINT" || signal === "SIGQUIT") && [0, 1, 2].some((fd) => isatty(fd));
}

/** Node ignores the one, and starts a debugger by the other. */
const TAKEN_BY_NODE: readonly string[] = ["SIGPIPE", "SIGUSR1"];

/** They leave a core, which would lie in the place of the program's: gigabytes of ours, of no use to anybody. */
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

/** A limit of one byte is too small for any core, and keeps the system from handing it to a program, too. */
function leaveNoCore(): void {
  spawnSync("prlimit", ["--core=1:", "--pid", `${process.pid}`], { stdio: "ignore" });
}

/**
 * Ends this process by a signal, so that its parent sees what a program without handlers would have shown
 * (a shell says 128 + the signal's number).
 *
 * @param signal its name, `SIGRTMIN+3` too
 */
export function dieBySignal(signal: string): void {
  const number = signalNumber(signal);
  // Whose last listener goes has the default action.
  if (TAKEN_BY_NODE.includes(signal)) process.on(signal, () => undefined);
  process.removeAllListeners(signal);
  if (process.platform === "linux" && WITH_CORE.includes(signal)) leaveNoCore();
  process.kill(process.pid, number);
  // The kernel does not let the first process of a container die by a default action.
  setTimeout(() => process.exit(128 + number), 1000);
}
