import { UserError } from "../../ground/bytes/errors.ts";
import { type Check, count, integer, list, number, oneOf, parseVersioned, record, text } from "./check.ts";
import type { SampleProfile } from "./sample-profile.ts";

/**
 * Call paths of a native program that were taken at intervals of CPU time: `cpu.json`, version 1. Places in code are numbers of sites, as in
 * the heap profile of the same run; `run.json` says which module has which.
 */
export const CPU_FILE = "cpu.json";
export const CPU_SCHEMA = "memshade-cpu";
export const CPU_VERSION = 1;

export interface CpuSamples {
  schema: typeof CPU_SCHEMA;
  version: typeof CPU_VERSION;
  /** Samples per second of CPU time, of each thread. */
  hz: number;
  /** In the order of their first samples. */
  threads: CpuThread[];
  /** Call paths as a tree: callers stand before what they call. `caller` is −1 for outermost frames, and `site` the place in code. */
  stacks: { caller: number[]; site: number[] };
  /**
   * A row per sample, in the order of time: milliseconds since the program began, indices of thread and stack (−1: it has none), and how
   * many periods of CPU time it stands for: its own, and those of the lost ones before it.
   */
  samples: { ms: number[]; thread: number[]; stack: number[]; periods: number[] };
  /** Samples that were due and not taken: the signal was kept off, or there was no room. */
  lost: number;
  /** Samples that fell into memshade's own code inside the program, and are in no row. */
  own: number;
  /** Rows whose stack ends early, where nothing led on or it was too deep. */
  endedEarly: number;
  /** Sentences: what the rows do not tell. */
  notTracked: string[];
}

interface CpuThread {
  /** As the kernel counts threads. */
  id: number;
  /** Its name when its last sample was taken. */
  name: string;
}

/** Call paths of a native program by CPU time, with names. */
export interface CpuProfile {
  readonly program: string;
  readonly command: readonly string[];
  /** Samples per second of CPU time, of each thread. */
  readonly hz: number;
  /** Value types: samples, each with those before it that were lost, and the nanoseconds of CPU time that they stand for. */
  readonly samples: SampleProfile;
  readonly lost: number;
  readonly own: number;
  readonly endedEarly: number;
  /** Sentences. */
  readonly notTracked: readonly string[];
}

/** Index of the value types. */
export const CPU_VALUES = { samples: 0, nanoseconds: 1 } as const;

const file: Check<CpuSamples> = record<CpuSamples>({
  schema: oneOf(CPU_SCHEMA),
  version: oneOf(CPU_VERSION),
  hz: number,
  threads: list(record<CpuThread>({ id: count, name: text })),
  stacks: record<CpuSamples["stacks"]>({ caller: list(integer), site: list(count) }),
  samples: record<CpuSamples["samples"]>({
    ms: list(number),
    thread: list(count),
    stack: list(integer),
    periods: list(count),
  }),
  lost: count,
  own: count,
  endedEarly: count,
  notTracked: list(text),
});

/**
 * The samples that the text of a `cpu.json` describes.
 *
 * @throws UserError saying what is wrong in one line, without the file's name
 */
export function readCpuSamples(json: string): CpuSamples {
  const checked = file(
    parseVersioned(json, CPU_SCHEMA, CPU_VERSION, "does not describe samples of a program"),
  );
  const { stacks, samples, threads } = checked;
  const [rows, frames] = [samples.ms.length, stacks.site.length];
  if (Object.values(samples).some((column) => column.length !== rows))
    throw new UserError("samples: the columns have different lengths");
  if (stacks.caller.length !== frames) throw new UserError("stacks: the columns have different lengths");
  if (stacks.caller.some((caller, stack) => caller < -1 || caller >= stack))
    throw new UserError("stacks.caller should be -1 or the number of an earlier stack");
  if (samples.stack.some((stack) => stack < -1 || stack >= frames))
    throw new UserError("samples.stack should be -1 or the number of a stack");
  if (samples.thread.some((thread) => thread >= threads.length))
    throw new UserError("samples.thread should be the number of a thread");
  return checked;
}
