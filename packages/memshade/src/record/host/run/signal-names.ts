import { constants } from "node:os";

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
