import { UserError } from "../../ground/bytes/errors.ts";
import {
  type Check,
  count,
  each,
  integer,
  list,
  number,
  oneOf,
  parseVersioned,
  record,
  text,
} from "./check.ts";
import type { SampleProfile } from "./sample-profile.ts";

/**
 * Call paths of a native program, sampled at intervals of CPU time: `cpu.json`, version 1. A code position is a site
 * number, as in the heap profile of the same run. `run.json` maps site numbers to modules.
 */
export const CPU_FILE = "cpu.json";
export const CPU_SCHEMA = "memshade-cpu";
export const CPU_VERSION = 1;

export interface CpuSamples {
  /** Name and version of the format. */
  schema: typeof CPU_SCHEMA;
  version: typeof CPU_VERSION;
  /** Samples per second of each thread's CPU time. */
  hz: number;
  /** Threads that were sampled. */
  threads: CpuThread[];
  /**
   * Call paths as a tree in which callers precede callees. `caller` is −1 for outermost frames; `site` is the code
   * position: `modules[].start` + offset.
   */
  stacks: { caller: number[]; site: number[] };
  /**
   * Row per sample, in the order of time. `ms` counts from the program's start; `stack` is −1 for a sample without a
   * stack. `periods` is the number of CPU-time periods of the sample: its own, and those of the lost samples before it.
   */
  samples: { ms: number[]; thread: number[]; stack: number[]; periods: number[] };
  /** Samples that were due and not taken, because the signal was blocked or there was no room. */
  lost: number;
  /** Samples in memshade's own code inside the program; they have no row. */
  own: number;
  /** Rows whose stack is truncated, because unwinding failed or the stack was too deep. */
  endedEarly: number;
  /** Sentences about facts that the rows do not cover. */
  notTracked: string[];
}

interface CpuThread {
  /** Number of the thread in the system. */
  id: number;
  /** Name at the time of the last sample. */
  name: string;
}

/** Call paths of a native program by CPU time, with names. */
export interface CpuProfile {
  readonly program: string;
  readonly command: readonly string[];
  readonly hz: number;
  /** Value types: samples, including the lost ones before each, and their CPU time in nanoseconds. */
  readonly samples: SampleProfile;
  readonly lost: number;
  readonly own: number;
  readonly endedEarly: number;
  readonly notTracked: readonly string[];
}

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
  ...each(count, "lost", "own", "endedEarly"),
  notTracked: list(text),
});

/**
 * Parses and checks the text of a `cpu.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
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
