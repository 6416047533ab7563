import { COLD, ReuseDistances } from "./reuse-distance.ts";

/** Misses of a set-associative LRU cache by their reasons. */
export interface CacheMisses {
  references: number;
  misses: number;
  /** First references to lines. */
  cold: number;
  /** Misses of a fully associative cache of the same size, less the cold ones. */
  capacity: number;
  /** Misses beyond those of the fully associative cache; negative where its LRU order was the worse choice. */
  conflict: number;
}

/** Runs references through a cache of `lines` lines in sets of `ways`; the set of a line is its number modulo the sets. */
export function simulateCache(
  stream: Iterable<number>,
  { lines, ways }: { lines: number; ways: number },
): CacheMisses {
  const setCount = Math.max(1, Math.floor(lines / ways));
  /** Lines of each set, most recent last. */
  const sets: number[][] = Array.from({ length: setCount }, () => []);
  const distances = new ReuseDistances();
  let references = 0;
  let misses = 0;
  let cold = 0;
  let fullyAssociative = 0;
  for (const line of stream) {
    references++;
    const distance = distances.reference(line);
    if (distance === COLD) cold++;
    if (distance === COLD || distance >= lines) fullyAssociative++;
    const set = sets[line % setCount];
    const at = set.indexOf(line);
    if (at >= 0) set.splice(at, 1);
    else {
      misses++;
      if (set.length === ways) set.shift();
    }
    set.push(line);
  }
  return {
    references,
    misses,
    cold,
    capacity: fullyAssociative - cold,
    conflict: misses - fullyAssociative,
  };
}
