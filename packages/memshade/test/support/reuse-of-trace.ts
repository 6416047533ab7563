import { MissRatioCurve, ValueHistogram } from "../../src/explain/analyses/locality.ts";

/** The reuses of a whole trace of lines. Positions count references from 1. */
export interface TraceReuse {
  references: number;
  /** Distinct lines. */
  lines: number;
  times: ValueHistogram;
  /** Distinct other lines between a reference and the one before it to the same line. */
  distances: ValueHistogram;
  firsts: ValueHistogram;
  lasts: ValueHistogram;
}

/**
 * The oracle of reuse times and stack distances: follows every reference. A Fenwick tree holds a mark at the last
 * reference of each line, and the marks behind a line's own are its distance (Bennett and Kruskal).
 */
export function reuseOfTrace(lines: ArrayLike<number>): TraceReuse {
  const references = lines.length;
  const tree = new Int32Array(references + 1);
  const mark = (position: number, change: number): void => {
    for (let at = position; at <= references; at += at & -at) tree[at] += change;
  };
  const marksUpTo = (position: number): number => {
    let sum = 0;
    for (let at = position; at > 0; at &= at - 1) sum += tree[at];
    return sum;
  };
  const lastOf = new Map<number, number>();
  const [times, distances, firsts, lasts] = Array.from({ length: 4 }, () => new ValueHistogram());
  for (let position = 1; position <= references; position++) {
    const line = lines[position - 1];
    const last = lastOf.get(line);
    lastOf.set(line, position);
    if (last === undefined) firsts.add(position);
    else {
      times.add(position - last);
      distances.add(lastOf.size - marksUpTo(last));
      mark(last, -1);
    }
    mark(position, 1);
  }
  for (const last of lastOf.values()) lasts.add(references + 1 - last);
  return { references, lines: lastOf.size, times, distances, firsts, lasts };
}

/** The exact curve of a trace. */
export function curveOf({ distances, lines, references }: TraceReuse): MissRatioCurve {
  return new MissRatioCurve(distances, lines, references);
}
