import type { Position } from "./path-keys.ts";

/*
 * What places cost that are taken for the same one, against a match. Lines that were put in move all behind them by as many: one change of
 * the distance. Another column is another text on the line, which tells more.
 */
const MATCH = 1000;
const MOVE = 1;
const OTHER_COLUMN = 2;
/** Of two ways with as many moves the one with shorter ones, of fewer places; all together less than a move. */
const PER_LINE = 1e-9;
const FAR = 100_000;
const MOST_STEPS = 4_000_000;

/** The best way to match up to here, as a chain of matches. */
interface Chain {
  readonly score: number;
  readonly old: number;
  readonly new: number;
  readonly before: Chain | undefined;
}

/**
 * Which places in a function of one build are which of another build. The order of places stays; as many as possible are matched, with
 * as few changes of their distance as possible.
 *
 * @param old in their order, as `now`
 * @returns for each of `old` an index into `now`; undefined for places that are gone
 */
export function alignPositions(old: readonly Position[], now: readonly Position[]): (number | undefined)[] {
  const same = commonStart(old, now);
  const rest = alignRest(old.slice(same), now.slice(same));
  return old.map((_, index) => (index < same ? index : moved(rest[index - same], same)));
}

/** How many places at the start did not move. */
function commonStart(old: readonly Position[], now: readonly Position[]): number {
  const differs = old.findIndex(
    ({ line, column }, index) => line !== now[index]?.line || column !== now[index]?.column,
  );
  return differs < 0 ? old.length : differs;
}

function moved(match: number | undefined, by: number): number | undefined {
  return match === undefined ? undefined : match + by;
}

function alignRest(old: readonly Position[], now: readonly Position[]): (number | undefined)[] {
  // Nobody wrote functions with so many places; those of generated code are told by what did not move.
  if (old.length * now.length > MOST_STEPS) {
    const places = new Map(now.map(({ line, column }, index) => [`${line}:${column}`, index]));
    return old.map(({ line, column }) => places.get(`${line}:${column}`));
  }
  // The best chain that ends before a place of `now`, over all rows of `old` up to the one before.
  let best: (Chain | undefined)[] = Array.from({ length: now.length + 1 });
  const bestOfShift = new Map<number, Chain>();
  for (const [i, from] of old.entries()) {
    const next = [...best];
    const inRow: [number, Chain][] = [];
    for (const [j, to] of now.entries()) {
      const shift = to.line - from.line;
      const own =
        MATCH - (from.column === to.column ? 0 : OTHER_COLUMN) - Math.min(Math.abs(shift), FAR) * PER_LINE;
      const before = best[j];
      const movedBy = before === undefined ? shift : shift - (now[before.new]!.line - old[before.old]!.line);
      const cost = movedBy === 0 ? 0 : MOVE + Math.min(Math.abs(movedBy), FAR) * PER_LINE;
      let chain: Chain = { score: (before?.score ?? 0) + own - cost, old: i, new: j, before };
      const along = bestOfShift.get(shift);
      if (along !== undefined && along.new < j && along.score + own > chain.score)
        chain = { score: along.score + own, old: i, new: j, before: along };
      inRow.push([shift, chain]);
      for (let end = j + 1; end <= now.length; end++) {
        const known = next[end];
        if (known !== undefined && known.score >= chain.score) break;
        next[end] = chain;
      }
    }
    for (const [shift, chain] of inRow) {
      const known = bestOfShift.get(shift);
      if (known === undefined || known.score < chain.score) bestOfShift.set(shift, chain);
    }
    best = next;
  }
  const matches: (number | undefined)[] = old.map(() => undefined);
  for (let chain = best.at(-1); chain !== undefined; chain = chain.before) matches[chain.old] = chain.new;
  return matches;
}
