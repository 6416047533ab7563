import { UserError } from "../../../ground/bytes/errors.ts";
import { LINE_BYTES, roundUp, WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { constantsOf } from "../table-layout.ts";
import { CONTROL_BYTES, Control, SNAPSHOT_BYTES } from "./layout.ts";

/** Lines of 4 GiB, and one that stands for all addresses above. */
const ADDRESSABLE_LINES = 2 ** 26 + LINE_BYTES;
const PLANES = 3;
export const STACKS_BYTES = 1 << 20;
/** Upper bound of how often intervals can be merged in a run. */
const MOST_DOUBLINGS = 40;
const MOST_INTERVALS = 16_384;
const FEWEST_INTERVALS = 8;

/** Addresses of the tables in the tool's memory, bytes, and further facts for reading them. */
export type WorkingSetLayout = ReturnType<typeof planWorkingSetLayout> & {
  /** True if the host is asked for its call stacks. */
  readonly asksHost?: boolean;
};

export interface WorkingSetWishes {
  memoryBytes: number;
  interval: number;
  maxIntervals: number;
  unit: "accesses" | "wall" | "cpu";
  assumeAligned: boolean;
  adaptive: boolean;
  /** Accesses after which the next poll calls the runtime, due or not. */
  mostAccessesToPoll?: number | undefined;
  stackFrom: number;
  stackTo: number;
  heapFrom: number;
}

/** Largest start value of the countdown, so that a late poll cannot make it wrap around. */
const LONGEST_COUNTDOWN = 1 << 30;

/**
 * Returns the bytes of tables per byte of program memory: a byte per line in each plane and in the history. Pages take
 * little.
 */
export function workingSetBytesPerByte(): number {
  return (PLANES + 1) / LINE_BYTES;
}

export function planWorkingSetLayout(wishes: WorkingSetWishes) {
  const { interval, maxIntervals } = wishes;
  if (!Number.isSafeInteger(interval) || interval < 1 || interval > 2 ** 48)
    throw new UserError("the length of an interval must be between 1 and 2^48 units");
  if (
    !Number.isInteger(maxIntervals) ||
    maxIntervals % 2 !== 0 ||
    maxIntervals < FEWEST_INTERVALS ||
    maxIntervals > MOST_INTERVALS
  )
    throw new UserError(
      `the number of intervals to keep must be even and between ${FEWEST_INTERVALS} and ${MOST_INTERVALS}`,
    );
  const coveredBytes = Math.ceil(wishes.memoryBytes / WASM_PAGE_BYTES) * WASM_PAGE_BYTES;
  const lines = coveredBytes / LINE_BYTES;
  // Marks of addresses beyond the program's memory, whose access is about to trap, must not reach other tables.
  const written = ADDRESSABLE_LINES;
  const both = written + ADDRESSABLE_LINES;
  const history = ADDRESSABLE_LINES * PLANES;
  const pages = history + lines;
  const bigPages = pages + roundUp((coveredBytes / 4096) * 2, 16);
  const control = roundUp(bigPages + (coveredBytes / WASM_PAGE_BYTES) * 2 + 16, 4096);
  const records = control + CONTROL_BYTES;
  const recordCapacity = maxIntervals + (maxIntervals / 2) * MOST_DOUBLINGS;
  const stacks = roundUp(records + recordCapacity * SNAPSHOT_BYTES, 16);
  const locality = roundUp(stacks + STACKS_BYTES, WASM_PAGE_BYTES);
  return {
    lines,
    written,
    both,
    history,
    pages,
    bigPages,
    control,
    records,
    recordCapacity,
    stacks,
    stacksEnd: stacks + STACKS_BYTES,
    locality,
    endBytes: locality,
    interval,
    maxIntervals,
    unit: wishes.unit,
    assumeAligned: wishes.assumeAligned,
    adaptive: wishes.adaptive,
    longestCountdown: wishes.mostAccessesToPoll ?? LONGEST_COUNTDOWN,
    /** Lines of the program's stack and first line of its heap; `heapFrom` is −1 if unknown. */
    stackFrom: wishes.stackFrom,
    stackTo: wishes.stackTo,
    heapFrom: wishes.heapFrom,
    /** Positions of calls and polls that may be on the stack at a snapshot, as read by `CodeMarks`; empty: unknown. */
    calls: "",
  };
}

/**
 * Returns the address of the accesses up to the last poll that called the runtime. In virtual time they are the time.
 */
export function accessesAt({ control, unit }: WorkingSetLayout): number {
  return unit === "accesses" ? control : control + Control.accesses;
}

export function clockAt({ control }: WorkingSetLayout): number {
  return control + Control.clock;
}

export function workingSetConstants(layout: WorkingSetLayout): Record<string, number> {
  return {
    ...constantsOf(layout),
    INTERVAL_LOW: layout.interval >>> 0,
    INTERVAL_HIGH: Math.floor(layout.interval / 2 ** 32),
    MOST_INTERVALS: layout.maxIntervals,
    HEAP_FROM: layout.heapFrom < 0 ? 0xffffffff : layout.heapFrom,
    ACCESSES: accessesAt(layout),
  };
}
