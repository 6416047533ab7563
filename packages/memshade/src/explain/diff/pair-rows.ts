import { entryOf } from "../../ground/bytes/entries.ts";
import { type KeyFrame, type PathKey, type Position, positionOf } from "./path-keys.ts";
import { FileMap, inNewNames, type RenamedFunctions } from "./renamed-functions.ts";

/** Equal rows of the older and the newer side: for each run of a side its row, undefined if the run has none. */
export interface RowPair {
  readonly old: readonly (number | undefined)[];
  readonly new: readonly (number | undefined)[];
}

/**
 * Pairs the rows of runs of different builds. Functions are equal by name, and by file if several have one name. Places
 * are equal by their line in the function, so moved functions and inserted lines make no difference.
 *
 * @param older key of each row, for each run of the side; the keys of a run are distinct
 */
export function pairRows(
  older: readonly (readonly PathKey[])[],
  now: readonly (readonly PathKey[])[],
  renamed: RenamedFunctions = new Map(),
): RowPair[] {
  const old = renamed.size === 0 ? older : older.map((keys) => keys.map((key) => inNewNamesOf(renamed, key)));
  const names = new SharedNames(framesOf(old), framesOf(now));
  const pairs = new Map<string, { old: (number | undefined)[]; new: (number | undefined)[] }>();
  for (const [side, runs] of [
    ["old", old],
    ["new", now],
  ] as const)
    for (const [run, keys] of runs.entries())
      for (const [row, key] of keys.entries()) {
        const text = names.nameOf(side, key);
        const pair = entryOf(pairs, text, () => ({
          old: old.map(() => undefined),
          new: now.map(() => undefined),
        }));
        pair[side][run] = row;
      }
  return [...pairs.values()];
}

function inNewNamesOf(renamed: RenamedFunctions, { frames, withPlaces }: PathKey): PathKey {
  return { frames: frames.map((frame) => inNewNames(renamed, frame)), withPlaces };
}

function framesOf(runs: readonly (readonly PathKey[])[]): Placed[] {
  return runs.flatMap((keys) =>
    keys.flatMap(({ frames, withPlaces }) => frames.map((frame) => ({ frame, withPlaces }))),
  );
}

interface Placed {
  readonly frame: KeyFrame;
  readonly withPlaces: boolean;
}

class SharedNames {
  readonly #files: FileMap;
  /** Functions with a place whose start line is unknown: their lines are counted from the file's start. */
  readonly #startless: ReadonlySet<string>;
  /** Functions for which only one build has lines: their places are compared by offsets. */
  readonly #lineless: ReadonlySet<string>;
  readonly #places: ReadonlyMap<string, string>;

  constructor(old: readonly Placed[], now: readonly Placed[]) {
    this.#files = new FileMap(
      old.map(({ frame }) => frame),
      now.map(({ frame }) => frame),
    );
    const startless = new Set<string>();
    const withLines = { old: new Set<string>(), new: new Set<string>() };
    const names = { old: new Set<string>(), new: new Set<string>() };
    for (const [side, placed] of [
      ["old", old],
      ["new", now],
    ] as const)
      for (const { frame } of placed) {
        const name = this.#files.functionOf(side, frame);
        names[side].add(name);
        if ((frame.line ?? 0) === 0) continue;
        withLines[side].add(name);
        if ((frame.startLine ?? 0) === 0) startless.add(name);
      }
    this.#startless = startless;
    this.#lineless = new Set(
      [...names.old].filter(
        (name) => names.new.has(name) && withLines.old.has(name) !== withLines.new.has(name),
      ),
    );
    this.#places = this.#align(this.#positionsOf("old", old), this.#positionsOf("new", now));
  }

  nameOf(side: "old" | "new", { frames, withPlaces }: PathKey): string {
    return frames
      .map((frame) => {
        const name = this.#files.functionOf(side, frame);
        if (!withPlaces) return name;
        const place = placeText(this.#positionOf(name, frame));
        const shared = side === "new" ? `new ${place}` : this.#places.get(`${name}\n${place}`);
        return `${name}\n${shared ?? `old ${place}`}`;
      })
      .join("\n");
  }

  #positionOf(name: string, frame: KeyFrame): Position {
    const shown = this.#lineless.has(name) ? { ...frame, line: 0 } : frame;
    return positionOf(shown, !this.#startless.has(name));
  }

  #positionsOf(side: "old" | "new", placed: readonly Placed[]): Map<string, Map<string, Position>> {
    const positions = new Map<string, Map<string, Position>>();
    for (const { frame, withPlaces } of placed) {
      if (!withPlaces) continue;
      const name = this.#files.functionOf(side, frame);
      const position = this.#positionOf(name, frame);
      const key = `${position.kind} ${name}`;
      const ofFunction = entryOf(positions, key, () => new Map());
      const text = placeText(position);
      ofFunction.set(text, together(ofFunction.get(text), position, frame.sign));
    }
    return positions;
  }

  #align(
    old: ReadonlyMap<string, ReadonlyMap<string, Position>>,
    now: ReadonlyMap<string, ReadonlyMap<string, Position>>,
  ): Map<string, string> {
    const places = new Map<string, string>();
    for (const [key, ofOld] of old) {
      const ofNew = now.get(key);
      if (ofNew === undefined) continue;
      const name = key.slice(key.indexOf(" ") + 1);
      const [before, after] = [inOrder(ofOld), inOrder(ofNew)];
      for (const [index, match] of alignPositions(before, after).entries())
        if (match !== undefined)
          places.set(`${name}\n${placeText(before[index]!)}`, `new ${placeText(after[match]!)}`);
    }
    return places;
  }
}

function together(existing: Position | undefined, position: Position, sign: string | undefined): Position {
  const first = Math.min(
    existing?.code ?? Number.POSITIVE_INFINITY,
    position.code ?? Number.POSITIVE_INFINITY,
  );
  const signs = new Set(existing?.signs);
  if (sign !== undefined) signs.add(sign);
  return {
    ...position,
    code: first === Number.POSITIVE_INFINITY ? undefined : first,
    signs: signs.size === 0 ? undefined : signs,
  };
}

function inOrder(positions: ReadonlyMap<string, Position>): Position[] {
  return [...positions.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

function placeText({ kind, line, column }: Position): string {
  return `${kind}:${line}:${column}`;
}

/*
 * Costs of pairing different places, relative to a match. Inserted lines move all later ones equally: one change of the
 * distance. Another column means another text on the line, which costs more.
 */
const MATCH = 1000;
const MOVE = 1;
const OTHER_COLUMN = 2;
/**
 * Cost of a different amount of code in between. It is less reliable than lines, because constants may take more or
 * fewer bytes.
 */
const OTHER_CODE = 0.25;
/** Cost of another called function or other amounts. It decides only if nothing else does. */
const OTHER_SIGNS = 0.1;
/** Cost that prefers shorter moves, and moves of fewer places; the sum stays below the cost of a move. */
const PER_LINE = 1e-9;
const FAR = 100_000;
const MOST_STEPS = 4_000_000;

/** Best pairing so far, as a chain of matches. */
interface Chain {
  readonly score: number;
  readonly old: number;
  readonly new: number;
  readonly before: Chain | undefined;
}

/**
 * Pairs the places in a function of two builds. The order of places is kept; as many as possible are matched, with as
 * few changes of their distance as possible.
 *
 * @param old in order, like `now`
 * @returns for each of `old` an index into `now`; undefined for removed places
 */
export function alignPositions(old: readonly Position[], now: readonly Position[]): (number | undefined)[] {
  // Only generated functions have that many places; unmoved ones are paired.
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
  // Best chain that ends before each place of `now`, over all previous rows of `old`.
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
        const existing = next[end];
        if (existing !== undefined && existing.score >= chain.score) break;
        next[end] = chain;
      }
    }
    for (const [shift, chain] of inRow) {
      const existing = bestOfShift.get(shift);
      if (existing === undefined || existing.score < chain.score) bestOfShift.set(shift, chain);
    }
    best = next;
  }
  const matches: (number | undefined)[] = old.map(() => undefined);
  for (let chain = best.at(-1); chain !== undefined; chain = chain.before) matches[chain.old] = chain.new;
  return matches;
}

function codeBetween({ code: from }: Position, { code: to }: Position): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from;
}

/** Returns true also if signs are unknown. */
function haveCommonSign({ signs: old }: Position, { signs: now }: Position): boolean {
  return old === undefined || now === undefined || [...old].some((sign) => now.has(sign));
}
