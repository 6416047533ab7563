import { type FrameMemory, placeFrameMemory } from "../../contexts/frames/frame-memory.ts";
import type { InstrumentedInfo, ObjectsOptions } from "../options.ts";
import { CONTROL_BYTES, COUNTER_BYTES, SAMPLE_BYTES } from "./layout.ts";
import type { ReferenceBytes } from "./size-model.ts";

/** Samples kept; when there are more, half of them are given up. */
export const MOST_SAMPLES = 32_768;
/** Room for the call stacks of samples. */
const STACKS_BYTES = 1 << 20;
/** Room for what changed in each interval. */
const INTERVALS_BYTES = 1 << 24;
const PAGE_BYTES = 65_536;
/** Mean distance between samples unless the user says otherwise. */
export const DEFAULT_SAMPLE_BYTES = 512 * 1024;

/** Where the tables lie in the tool's memory, bytes, and what the host must know besides to read them. */
export interface ObjectTablesLayout extends FrameMemory {
  readonly control: number;
  readonly counters: number;
  /** Both 0 where nothing is sampled. */
  readonly samples: number;
  readonly sampleCapacity: number;
  readonly stacks: number;
  readonly stacksEnd: number;
  readonly intervals: number;
  readonly intervalsEnd: number;
  /** Mean distance between samples at the start; 0: none are taken. */
  readonly meanBytes: number;
  readonly references: ReferenceBytes;
  readonly fields: boolean;
  /** Allocations are counted by calling context, in frames. */
  readonly contexts: boolean;
}

/** All that a module tells of its tables. */
export interface ObjectsLayout extends ObjectTablesLayout {
  readonly [key: string]: number | string | boolean;
  readonly counterCount: number;
  readonly endBytes: number;
  /** The counted instructions, as `encodeEvents` has written them, and the calls with slots, as `encodeSlots` has. */
  readonly events: string;
  readonly slots: string;
  /** The host knows which of its stacks enter the module. */
  readonly asksHost: boolean;
}

export interface ObjectsPlan {
  readonly meanBytes: number;
  readonly references: ReferenceBytes;
  readonly fields: boolean;
  /** Functions of the module and bytes of a frame of each of them; undefined: contexts are not told apart. */
  readonly frames: { readonly functions: number; readonly frameBytes: number } | undefined;
}

/** The options that a module was woven with, undefined for one without the tool. */
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

/** Places the tables. Counters come last: how many there are is known when all functions are written. */
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

/** Where so many counters end, and with them the tool's memory. */
export function endOfCounters({ counters }: ObjectTablesLayout, count: number): number {
  return Math.ceil((counters + count * COUNTER_BYTES) / PAGE_BYTES) * PAGE_BYTES;
}
