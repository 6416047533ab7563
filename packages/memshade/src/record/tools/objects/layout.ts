// Where things are in the objects tool's memory, for the code that fills it and for the one that reads it. README.md has a drawing.
import { FRAME_WORDS_BYTES } from "../../contexts/frames/frame-memory.ts";

/** What the module and the host tell each other about samples. */
export const Control = {
  /** f64: bytes allocated up to the last sample. */
  allocated: 0,
  /** i32: what the countdown was set to then, and what it had come to when the sample at hand was taken. */
  loaded: 8,
  rest: 12,
  /** The sample at hand: number of its site, and size of the object, bytes. */
  site: 16,
  size: 20,
  /** i32: one more than what the countdown is set to next; 0: nobody has answered. */
  next: 24,
  /** Samples in the table. */
  samples: 28,
  /** Stack noted for the sample at hand, plus one, and bytes used in STACKS. */
  stack: 32,
  stackNext: 36,
  /** f64: mean distance between samples, bytes. It doubles when the table is full. */
  mean: 40,
  /** f64: bytes allocated when the host last collected and looked; −1: never. */
  settled: 48,
  /** Frame of the function that made the object at hand; 0: none. */
  frame: 56,
  /** Bytes used in INTERVALS. */
  intervals: 60,
  /** f64: bytes allocated in an interval, about. It doubles when the table is full. */
  period: 64,
  /** `FrameWord`s. */
  frames: 72,
} as const;
export const CONTROL_BYTES = Control.frames + FRAME_WORDS_BYTES;

/** A u64 per counted stretch of code, and one per instruction whose length is known only when it runs. */
export const COUNTER_BYTES = 8;

/** One object that was chosen. */
export const Sample = {
  site: 0,
  state: 4,
  /** f64: bytes; number of objects that it stands for; bytes allocated before and up to when it was found dead. */
  size: 8,
  weight: 16,
  birth: 24,
  death: 32,
  stack: 40,
  frame: 44,
} as const;
export const SAMPLE_BYTES = 48;

/** What is known of a sample: nothing since it was taken; the engine took it away; it was there after a collection; it cannot be told. */
export const SampleState = { taken: 0, dead: 1, live: 2, unknown: 3 } as const;

/** An interval that has ended: how many counters went up in it, and behind that a `Change` for each. */
export const Interval = {
  /** f64 */
  changes: 0,
} as const;
export const INTERVAL_BYTES = 8;

export const Change = {
  /** f64: address of the counter; by how much it went up. */
  counter: 0,
  amount: 8,
} as const;
export const CHANGE_BYTES = 16;
