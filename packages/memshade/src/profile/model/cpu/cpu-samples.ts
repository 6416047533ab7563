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

export interface CpuThread {
  /** As the kernel counts threads. */
  id: number;
  /** Its name when its last sample was taken. */
  name: string;
}
