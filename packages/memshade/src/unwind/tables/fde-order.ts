import type { CfiRows } from "../cfi/rows.ts";

/** A stretch of code (offsets from the base) and the FDE that describes it. */
export interface FdeSpan {
  fde: number;
  start: number;
  end: number;
}

/**
 * The FDEs by address, cut where they overlap. Where several describe an address, the one that starts last counts; of
 * those with equal starts the first that was read. The object that is given out changes with every step.
 */
export function orderFdes(rows: CfiRows): Iterable<FdeSpan> {
  return cutSpans(rows, sortedFdes(rows));
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
