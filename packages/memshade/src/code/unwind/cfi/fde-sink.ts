import type { Cie } from "./cie.ts";
import type { CfiSection } from "./section.ts";

/** The rows of an FDE: each begins `deltas[i]` bytes behind the start of its code. Deltas ascend from 0. */
export interface FdeRows {
  /** Index of the first row in the arrays. */
  readonly first: number;
  readonly count: number;
  readonly deltas: Int32Array;
  /** Index of each row's rule set. */
  readonly sets: Int32Array;
}

/** The fast path through the entries of a section. */
export interface FastReader {
  /** FDEs that were read so far. */
  readonly count: number;
  /**
   * Begins with a section.
   *
   * @param base address (SVMA) that offsets count from
   * @param code range of offsets in which FDEs may start
   * @returns whether there was another before, whose CIEs are forgotten now
   */
  enter(section: CfiSection, base: number, code: { readonly start: number; readonly end: number }): boolean;
  /** Takes FDEs of a CIE of the section on the fast path, if it can read them. */
  addCie(offset: number, cie: Cie): void;
  /**
   * Reads FDEs one behind the other and hands them on.
   *
   * @param end where the last of them ends at most
   * @returns position of the first entry that is left to the whole reader, or does not end before `end`
   */
  read(from: number, end: number, sink: FdeSink): number;
}

/** Takes the rows of FDEs in the order in which they are read. */
export interface FdeSink {
  /** Reads FDEs as nearly all are straight into what this makes of them; the others come through `addFde`. */
  readonly fast?: FastReader;

  /**
   * @param start offset of the function from the base of the object, minus `OFFSET_BIAS`
   * @param size its bytes; they may reach beyond 2^32
   * @param rows its rows, valid during the call; those at or behind the end do not count
   */
  addFde(start: number, size: number, rows: FdeRows): void;
}
