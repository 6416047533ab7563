import { DisjointSets } from "./disjoint-sets.ts";
import { OUTSIDE, type RunFlow } from "./run-flow.ts";

/** Weights closer to each other than this, as a share, are guesses of the same. */
const SAME = 1e-3;

/**
 * The blocks that need no counter: their runs follow from those of the others (Knuth and Stevenson, *Optimal measurement
 * points for program frequency counts*, 1973). They are a spanning tree of the points, of the largest weights. Of equal ones
 * the last follow from the first: so what a trap cuts short leaves counts too large rather than too small.
 */
export function impliedBlocks({ from, to, points }: RunFlow, weight: (block: number) => number): number[] {
  const weights = from.map((_, block) => {
    const exact = weight(block);
    return exact > 0 ? Math.round(Math.log(exact) / SAME) : Number.NEGATIVE_INFINITY;
  });
  const order = from.map((_, block) => block).filter((block) => weights[block] > Number.NEGATIVE_INFINITY);
  const sets = new DisjointSets(points);
  return order
    .sort((a, b) => weights[b] - weights[a] || b - a)
    .filter((block) => sets.join(from[block], to[block]));
}

/** Runs of a block as a sum: those of the leaders `plus` without those of the leaders `minus`. */
export interface ImpliedRuns {
  leader: number;
  plus: number[];
  minus: number[];
}

/** How the runs of implied blocks follow, in an order in which each needs those before it only. */
export function impliedRuns(flow: RunFlow, isImplied: (leader: number) => boolean): ImpliedRuns[] {
  const { leader, from, to, points } = flow;
  const unknown = new Int32Array(points);
  const blocksOf: number[][] = Array.from({ length: points }, () => []);
  const implied = new Set<number>();
  leader.forEach((site, block) => {
    if (from[block] === to[block]) return;
    for (const point of [from[block], to[block]]) blocksOf[point].push(block);
    if (!isImplied(site)) return;
    implied.add(block);
    unknown[from[block]]++;
    unknown[to[block]]++;
  });
  const found: ImpliedRuns[] = [];
  const solvable: number[] = [];
  unknown.forEach((count, point) => {
    if (count === 1 && point !== OUTSIDE) solvable.push(point);
  });
  for (let point = solvable.pop(); point !== undefined; point = solvable.pop()) {
    const block = blocksOf[point].find((one) => implied.has(one));
    if (block === undefined) continue;
    implied.delete(block);
    // What ends at the point comes to it, what begins there goes away.
    const begins = from[block] === point;
    const others = blocksOf[point].filter((one) => one !== block);
    const same = others.filter((one) => (from[one] === point) === begins);
    const opposite = others.filter((one) => (from[one] === point) !== begins);
    found.push({
      leader: leader[block],
      plus: opposite.map((one) => leader[one]),
      minus: same.map((one) => leader[one]),
    });
    const other = begins ? to[block] : from[block];
    unknown[point]--;
    if (--unknown[other] === 1 && other !== OUTSIDE) solvable.push(other);
  }
  return found;
}
