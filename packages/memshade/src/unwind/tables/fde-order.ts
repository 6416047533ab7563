import type { CfiRows } from "../cfi/rows.ts";

/** A stretch of code (offsets from the base) and the FDE that describes it. */
export interface FdeSpan {
  fde: number;
  start: number;
  end: number;
}

/**
 * In which order FDEs follow each other in the code: by address, given as their numbers where they do not overlap
 * (undefined if they stand in order already), else as spans, cut where they overlap.
 */
export interface FdeOrder {
  readonly order: Uint32Array | undefined;
  readonly spans: Iterable<FdeSpan> | undefined;
  /** First offset behind all of them. */
  readonly end: number;
}

/**
 * Sorts FDEs by their start. Where several describe an address, the one that starts last counts; of those with equal
 * starts the first that was read.
 */
export function orderFdes(rows: CfiRows): FdeOrder {
  const { fdeEnds, fdeCount } = rows;
  let end = 0;
  for (let fde = 0; fde < fdeCount; fde++) if (fdeEnds[fde] > end) end = fdeEnds[fde];
  if (!overlap(rows, undefined)) return { order: undefined, spans: undefined, end };
  const order = sortedFdes(rows);
  if (!overlap(rows, order)) return { order, spans: undefined, end };
  return { order, spans: cutSpans(rows, order), end };
}

/** Whether an FDE starts before the end of the one in front of it. */
function overlap({ fdeStarts, fdeEnds, fdeCount }: CfiRows, order: Uint32Array | undefined): boolean {
  let end = 0;
  for (let i = 0; i < fdeCount; i++) {
    const fde = order === undefined ? i : order[i];
    if (fdeStarts[fde] < end) return true;
    end = fdeEnds[fde];
  }
  return false;
}

/** FDE numbers by ascending start, those with equal starts in the order they were read. */
function sortedFdes({ fdeStarts, fdeCount }: CfiRows): Uint32Array {
  // Linkers leave few FDEs out of order: those are sorted and merged into the rest.
  const inOrder = new Uint32Array(fdeCount);
  let inOrderCount = 0;
  const late: number[] = [];
  let highest = 0;
  for (let fde = 0; fde < fdeCount; fde++) {
    if (fdeStarts[fde] >= highest) {
      highest = fdeStarts[fde];
      inOrder[inOrderCount++] = fde;
    } else {
      late.push(fde);
    }
  }
  late.sort((a, b) => fdeStarts[a] - fdeStarts[b] || a - b);
  const merged = new Uint32Array(fdeCount);
  let next = 0;
  let nextLate = 0;
  for (let i = 0; i < fdeCount; i++) {
    const takeLate =
      nextLate < late.length && (next === inOrderCount || isBefore(fdeStarts, late[nextLate], inOrder[next]));
    merged[i] = takeLate ? late[nextLate++] : inOrder[next++];
  }
  return merged;
}

function isBefore(starts: Uint32Array, a: number, b: number): boolean {
  return starts[a] < starts[b] || (starts[a] === starts[b] && a < b);
}

function* cutSpans({ fdeStarts, fdeEnds }: CfiRows, order: Uint32Array): Generator<FdeSpan> {
  /** FDEs that began and may go on when those inside of them end, the innermost last. */
  const open: number[] = [];
  let position = 0;
  const span: FdeSpan = { fde: 0, start: 0, end: 0 };
  const spanUpTo = function* (limit: number): Generator<FdeSpan> {
    while (open.length > 0 && position < limit) {
      const fde = open[open.length - 1];
      const end = Math.min(fdeEnds[fde], limit);
      if (end > position) {
        span.fde = fde;
        span.start = position;
        span.end = end;
        position = end;
        yield span;
      }
      if (fdeEnds[fde] > limit) return;
      open.pop();
    }
  };
  for (const fde of order) {
    const start = fdeStarts[fde];
    const previous = open[open.length - 1];
    yield* spanUpTo(start);
    position = start;
    if (previous === undefined || fdeStarts[previous] !== start) open.push(fde);
    // A second one with the same start counts only behind the end of the first.
    else if (fdeEnds[fde] > fdeEnds[previous]) open.splice(open.length - 1, 0, fde);
  }
  yield* spanUpTo(Number.POSITIVE_INFINITY);
}
