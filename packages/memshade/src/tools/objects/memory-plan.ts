import type { InstrumentedInfo, ObjectsOptions } from "../options.ts";
import { CONTROL_BYTES, COUNTER_BYTES, SAMPLE_BYTES } from "./layout.ts";
import type { ReferenceBytes } from "./size-model.ts";

/** Samples kept; when there are more, half of them are given up. */
export const MOST_SAMPLES = 32_768;
/** Room for the call stacks of samples. */
const STACKS_BYTES = 1 << 20;
const PAGE_BYTES = 65_536;
/** Mean distance between samples unless the user says otherwise. */
export const DEFAULT_SAMPLE_BYTES = 512 * 1024;

/** Where the tables lie in the tool's memory, bytes, and what else the host must know to read them. */
export interface ObjectsLayout {
  readonly [key: string]: number | string | boolean;
  readonly control: number;
  readonly counters: number;
  readonly counterCount: number;
  /** Both 0 where nothing is sampled. */
  readonly samples: number;
  readonly sampleCapacity: number;
  readonly stacks: number;
  readonly stacksEnd: number;
  readonly endBytes: number;
  /** Mean distance between samples at the start; 0: none are taken. */
  readonly meanBytes: number;
  readonly references: ReferenceBytes;
  readonly fields: boolean;
}

export interface ObjectsPlan {
  readonly counterCount: number;
  readonly meanBytes: number;
  readonly references: ReferenceBytes;
  readonly fields: boolean;
}

/** The options that a module was woven with, undefined for one without the tool. */
export function objectsOptionsOf({
  toolLayouts,
}: Pick<InstrumentedInfo, "toolLayouts">): ObjectsOptions | undefined {
  if (toolLayouts?.objects === undefined) return undefined;
  const { fields, meanBytes, references } = toolLayouts.objects as ObjectsLayout;
  return { fields, sampleBytes: meanBytes, references };
}

/** Where counters begin: the other tables lie in front of them, because their sizes are known before functions are written. */
export function countersAt(meanBytes: number): number {
  return meanBytes === 0 ? CONTROL_BYTES : CONTROL_BYTES + MOST_SAMPLES * SAMPLE_BYTES + STACKS_BYTES;
}

export function planObjectsLayout(plan: ObjectsPlan): ObjectsLayout {
  const sampleCapacity = plan.meanBytes === 0 ? 0 : MOST_SAMPLES;
  const counters = countersAt(plan.meanBytes);
  const end = counters + plan.counterCount * COUNTER_BYTES;
  return {
    ...plan,
    control: 0,
    samples: CONTROL_BYTES,
    sampleCapacity,
    stacks: CONTROL_BYTES + sampleCapacity * SAMPLE_BYTES,
    stacksEnd: counters,
    counters,
    endBytes: Math.ceil(end / PAGE_BYTES) * PAGE_BYTES,
  };
}
