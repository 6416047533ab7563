// Layout of the memory of the tool objects, for the code that fills it and the code that reads it. README.md
// has a drawing.
import { FRAME_WORDS_BYTES } from "../../contexts/frames/frame-memory.ts";

/** Data of samples that the module and the host exchange. */
export const Control = {
  /** f64: bytes allocated up to the last sample. */
  allocated: 0,
  /** i32: value that the countdown was set to at the last sample, and its value at the current sample. */
  loaded: 8,
  rest: 12,
  /** Current sample: number of its site, and size of the object in bytes. */
  site: 16,
  size: 20,
  /** i32: next value of the countdown plus one; 0 if there is no host. */
  next: 24,
  /** Samples in the table. */
  samples: 28,
  /** Stack noted for the current sample, plus one, and bytes used in STACKS. */
  stack: 32,
  stackNext: 36,
  /** f64: mean distance between samples, bytes. It doubles when the table is full. */
  mean: 40,
  /** f64: bytes allocated at the host's last check after a garbage collection; −1: never. */
  settled: 48,
  /** Frame of the function that made the current object; 0: none. */
  frame: 56,
  /** Bytes used in INTERVALS. */
  intervals: 60,
  /** f64: approximate bytes allocated in an interval. It doubles when the table is full. */
  period: 64,
  frames: 72,
} as const;
export const CONTROL_BYTES = Control.frames + FRAME_WORDS_BYTES;

/**
 * Bytes of a counter, a u64. There is one per counted stretch of code, and one per instruction whose length
 * is known at run time only.
 */
export const COUNTER_BYTES = 8;

export const Sample = {
  site: 0,
  state: 4,
  /**
   * f64: size in bytes; number of objects that it stands for; bytes allocated before it; bytes allocated when
   * it was found dead.
   */
  size: 8,
  weight: 16,
  birth: 24,
  death: 32,
  stack: 40,
  frame: 44,
} as const;
export const SAMPLE_BYTES = 48;

/** States of a sample: not checked yet; collected by the engine; live after a collection; undecidable. */
export const SampleState = { taken: 0, dead: 1, live: 2, unknown: 3 } as const;

/** An ended interval: the number of counters that changed in it, followed by a `Change` for each. */
export const Interval = {
  /** f64 */
  changes: 0,
} as const;
export const INTERVAL_BYTES = 8;

export const Change = {
  /** f64: address of the counter, and its increase. */
  counter: 0,
  amount: 8,
} as const;
export const CHANGE_BYTES = 16;
