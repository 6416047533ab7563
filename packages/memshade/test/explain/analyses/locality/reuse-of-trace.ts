import {
  MissRatioCurve,
  type ReuseProfile,
  ValueHistogram,
} from "../../../../src/explain/analyses/locality.ts";

/** Reuses of a trace of lines by definition: an LRU stack that is searched from its top. */
export function reuseOfTrace(lines: readonly number[]): ReuseProfile {
  const stack: number[] = [];
  const lastOf = new Map<number, number>();
  const times = new ValueHistogram();
  const distances = new ValueHistogram();
  const firsts = new ValueHistogram();
  const lasts = new ValueHistogram();
  for (const [index, line] of lines.entries()) {
    const last = lastOf.get(line);
    lastOf.set(line, index);
    if (last === undefined) firsts.add(index + 1);
    else {
      times.add(index - last);
      const distance = stack.indexOf(line);
      distances.add(distance);
      stack.splice(distance, 1);
    }
    stack.unshift(line);
  }
  for (const last of lastOf.values()) lasts.add(lines.length - last);
  return { references: lines.length, lines: stack.length, times, distances, firsts, lasts };
}

export function curveOf({ distances, lines, references }: ReuseProfile): MissRatioCurve {
  return new MissRatioCurve(distances, lines, references);
}
