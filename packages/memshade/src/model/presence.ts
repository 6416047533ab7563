import { count, record } from "./check.ts";

/**
 * About how much memory the profiler took in the process of the program, bytes. It is made of what was recorded, so that two runs of
 * one program say the same; docs/concepts.md tells how near it comes to what a process really grows by.
 */
export interface Presence {
  /** Its own code and thread; 0 where it runs in a thread of the program. */
  own: number;
  /** The rewritten modules: their bytes, the engine's code for them, and what rewriting them takes. */
  modules: number;
  /** Shadow memory and tables that were touched. */
  shadow: number;
  /** What was recorded, as it is written. */
  recorded: number;
}

export const presenceCheck = record<Presence>({ own: count, modules: count, shadow: count, recorded: count });

export function presenceBytes({ own, modules, shadow, recorded }: Presence): number {
  return own + modules + shadow + recorded;
}
