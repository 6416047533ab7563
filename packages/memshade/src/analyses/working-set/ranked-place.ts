import type { AttributionKind, StackFrame } from "../../model/working-set/working-set.ts";

/** A function whose intervals are large, or an instruction that misses. */
export interface RankedPlace {
  /** Index of the module. */
  module: number;
  /** Undefined: no code, or bulk instructions. */
  frame: StackFrame | undefined;
  /** The library's function that `frame`, the program's own, had called. */
  via?: StackFrame | undefined;
  /** First touches and shares: what it is. */
  kind?: AttributionKind;
  /** Name of the object or file that it is of, of what is no code. */
  of?: string | undefined;
  /** The calls that led there, innermost first, where places are told apart by them. */
  callers?: StackFrame[];
  file: string | undefined;
  line: number | undefined;
  /**
   * Lines of the largest interval, or that were new, or that it was the first to touch in the whole run, or of blocks that
   * it allocated in an interval on average; bytes of lines that were not touched, in an interval on average; misses of the
   * whole run.
   */
  value: number;
  /** Lines, new lines and fill: intervals that ended in the function. */
  intervals?: number;
  /** Lines per interval on average. */
  mean?: number;
  /** Part of the bytes of the lines that were touched. */
  fill?: number;
  /** Shares: lines of the whole run. */
  total?: number;
  /** Misses: references that were followed, as an estimate for the whole run. */
  references?: number;
}

export interface WorkingSetRanking {
  places: RankedPlace[];
  /** Sum over all places, where they add up. */
  total: number | undefined;
  /** Misses: size of the cache. */
  cacheBytes: number | undefined;
}
