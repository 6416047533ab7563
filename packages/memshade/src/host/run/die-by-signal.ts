import { isatty } from "node:tty";

/** Some send a signal to a process and to its group: within this time it is one signal. */
export const SAME_SIGNAL_MS = 500;

/** Listens to signals. Returns a function that stops listening. */
export function onSignals(
  handlers: Partial<Record<NodeJS.Signals, (signal: NodeJS.Signals) => unknown>>,
): () => void {
  const entries = Object.entries(handlers) as [NodeJS.Signals, (signal: NodeJS.Signals) => void][];
  for (const [signal, handler] of entries) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of entries) process.off(signal, handler);
  };
}

/** Whether a signal comes from a terminal's key, probably: then all processes in the foreground have got it. */
export function isFromTerminal(signal: NodeJS.Signals): boolean {
  return signal === "SIGINT" && [0, 1, 2].some((fd) => isatty(fd));
}

const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/**
 * Ends this process by a signal, so that its parent sees what a program without handlers would have shown
 * (a shell says 128 + the signal's number). All listeners of the signal must be gone.
 */
export function dieBySignal(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
  // The kernel does not let the first process of a container die by a default action.
  setTimeout(() => process.exit(128 + (SIGNAL_NUMBERS[signal] ?? 0)), 1000);
}
