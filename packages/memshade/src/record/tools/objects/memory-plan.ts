import { WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { type FrameMemory, placeFrameMemory } from "../../contexts/frames/frame-memory.ts";
import type { InstrumentedInfo, ObjectsOptions } from "../options.ts";
import { CONTROL_BYTES, COUNTER_BYTES, SAMPLE_BYTES } from "./layout.ts";
import type { ReferenceBytes } from "./size-model.ts";

/** Most samples in the table. Beyond that, half of them are dropped. */
export const MOST_SAMPLES = 32_768;
const STACKS_BYTES = 1 << 20;
const INTERVALS_BYTES = 1 << 24;
/** Default of the mean distance between samples. */
export const DEFAULT_SAMPLE_BYTES = 512 * 1024;

/** Offsets of the tables in the tool's memory, in bytes, and the options that their reader needs. */
export interface ObjectTablesLayout extends FrameMemory {
  readonly control: number;
  readonly counters: number;
  /** Both 0 if nothing is sampled. */
  readonly samples: number;
  readonly sampleCapacity: number;
  readonly stacks: number;
  readonly stacksEnd: number;
  readonly intervals: number;
  readonly intervalsEnd: number;
  /** Mean distance between samples at the start; 0 if none are taken. */
  readonly meanBytes: number;
  readonly references: ReferenceBytes;
  readonly fields: boolean;
  /** True if allocations are counted by calling context, in frames. */
  readonly contexts: boolean;
}

export interface ObjectsLayout extends ObjectTablesLayout {
  readonly [key: string]: number | string | boolean;
  readonly counterCount: number;
  readonly endBytes: number;
  /** Counted instructions, written by `encodeEvents`, and calls with slots, written by `encodeSlots`. */
  readonly events: string;
  readonly slots: string;
  readonly asksHost: boolean;
}

export interface ObjectsPlan {
  readonly meanBytes: number;
  readonly references: ReferenceBytes;
  readonly fields: boolean;
  /**
   * Number of functions, and bytes of a frame of each of them together; undefined if contexts are not
   * distinguished.
   */
  readonly frames: { readonly functions: number; readonly frameBytes: number } | undefined;
}

/** Returns the options with which a module was instrumented, undefined for a module without the tool. */
export function objectsOptionsOf({
  toolLayouts,
}: Pick<InstrumentedInfo, "toolLayouts">): ObjectsOptions | undefined {
  if (toolLayouts?.objects === undefined) return undefined;
  const { fields, meanBytes, references, contexts } = toolLayouts.objects as ObjectsLayout;
  return { fields, sampleBytes: meanBytes, references, contexts };
}

const NO_FRAMES = {
  arena: 0,
  arenaLimit: 0,
  lastFrames: 0,
  nodes: 0,
  nodeCapacity: 0,
  index: 0,
  indexEntries: 0,
};

/**
 * Places the tables. Counters come last, because their number is known only when all functions are written.
 */
export function planObjectsLayout({ frames, ...options }: ObjectsPlan): ObjectTablesLayout {
  const sampleCapacity = options.meanBytes === 0 ? 0 : MOST_SAMPLES;
  const samples = CONTROL_BYTES;
  const stacks = samples + sampleCapacity * SAMPLE_BYTES;
  const stacksEnd = stacks + (sampleCapacity === 0 ? 0 : STACKS_BYTES);
  const intervalsEnd = stacksEnd + (sampleCapacity === 0 ? 0 : INTERVALS_BYTES);
  const { framesEnd, ...memory } =
    frames === undefined ? { ...NO_FRAMES, framesEnd: intervalsEnd } : placeFrameMemory(intervalsEnd, frames);
  return {
    ...options,
    contexts: frames !== undefined,
    control: 0,
    samples,
    sampleCapacity,
    stacks,
    stacksEnd,
    intervals: stacksEnd,
    intervalsEnd,
    ...memory,
    counters: framesEnd,
  };
}

/** Returns the end of the counters, which is the end of the tool's memory. */
export function endOfCounters({ counters }: ObjectTablesLayout, count: number): number {
  return Math.ceil((counters + count * COUNTER_BYTES) / WASM_PAGE_BYTES) * WASM_PAGE_BYTES;
}
