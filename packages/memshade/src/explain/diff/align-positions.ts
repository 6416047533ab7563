import type { Position } from "./path-keys.ts";

/*
 * What places cost that are taken for the same one, against a match. Lines that were put in move all behind them by as many: one change of
 * the distance. Another column is another text on the line, which tells more.
 */
const MATCH = 1000;
const MOVE = 1;
const OTHER_COLUMN = 2;
/** As much code in between as before says that nothing came in there, less surely than lines do: constants take more bytes or fewer. */
const OTHER_CODE = 0.25;
/** Where another function is called, or other amounts were counted: where nothing else tells which of two places came in. */
const OTHER_SIGNS = 0.1;
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
  // Nobody wrote functions with so many places; those of generated code are told by what did not move.
  if (old.length * now.length > MOST_STEPS) {
    const places = new Map(now.map(({ line, column }, index) => [`${line}:${column}`, index]));
    return old.map(({ line, column }) => places.get(`${line}:${column}`));
  }
  return old.length === now.length && old.every((position, index) => isAsBefore(position, now[index]!))
    ? old.map((_, index) => index)
    : longestChain(old, now);
}

function isAsBefore(old: Position, now: Position): boolean {
  return old.line === now.line && old.column === now.column;
}

function longestChain(old: readonly Position[], now: readonly Position[]): (number | undefined)[] {
  const codeCost = (before: Chain, i: number, j: number): number => {
    const [was, is] = [codeBetween(old[before.old]!, old[i]!), codeBetween(now[before.new]!, now[j]!)];
    return was === is || was === undefined || is === undefined ? 0 : OTHER_CODE;
  };
  // The best chain that ends before a place of `now`, over all rows of `old` up to the one before.
  let best: (Chain | undefined)[] = Array.from({ length: now.length + 1 });
  const bestOfShift = new Map<number, Chain>();
  for (const [i, from] of old.entries()) {
    const next = [...best];
    const inRow: [number, Chain][] = [];
    for (const [j, to] of now.entries()) {
      const shift = to.line - from.line;
      const own =
        MATCH -
        (from.column === to.column ? 0 : OTHER_COLUMN) -
        (haveCommonSign(from, to) ? 0 : OTHER_SIGNS) -
        Math.min(Math.abs(shift), FAR) * PER_LINE;
      const before = best[j];
      const movedBy = before === undefined ? shift : shift - (now[before.new]!.line - old[before.old]!.line);
      const cost =
        (movedBy === 0 ? 0 : MOVE + Math.min(Math.abs(movedBy), FAR) * PER_LINE) +
        (before !== undefined ? codeCost(before, i, j) : shift === 0 ? 0 : OTHER_CODE);
      let chain: Chain = { score: (before?.score ?? 0) + own - cost, old: i, new: j, before };
      const along = bestOfShift.get(shift);
      if (along !== undefined && along.new < j) {
        const score = along.score + own - codeCost(along, i, j);
        if (score > chain.score) chain = { score, old: i, new: j, before: along };
      }
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

/** Bytes; undefined where nobody knows. */
function codeBetween({ code: from }: Position, { code: to }: Position): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from;
}

/** Also where nobody knows of any. */
function haveCommonSign({ signs: old }: Position, { signs: now }: Position): boolean {
  return old === undefined || now === undefined || [...old].some((sign) => now.has(sign));
}
