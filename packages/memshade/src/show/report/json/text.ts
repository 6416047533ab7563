/** A list in the order of importance, whose values are made one by one while they are written. */
export class RankedList<Value = unknown> {
  readonly length: number;
  readonly #make: (index: number) => Value;

  constructor(length: number, make: (index: number) => Value) {
    this.length = length;
    this.#make = make;
  }

  static of<Row, Value>(rows: readonly Row[], make: (row: Row) => Value): RankedList<Value> {
    return new RankedList(rows.length, (index) => make(rows[index]!));
  }

  *first(count: number): Generator<Value, void, undefined> {
    for (let index = 0; index < Math.min(count, this.length); index++) yield this.#make(index);
  }

  toJSON(): Value[] {
    return [...this.first(this.length)];
  }
}

/** Report as JSON whose lists may be cut. */
export interface CutJson {
  /** Number of values left out of each list that was cut, by the list's path (`sites`, `sites[].stack`); absent if there are none. */
  readonly omitted?: { readonly [list: string]: number };
}

/** Least length of a piece, except for the last one. */
const PIECE_LENGTH = 1 << 16;
/** Objects down to this depth may contain a {@link RankedList}. */
const LAZY_DEPTH = 5;

/**
 * Formats JSON text. A u64 is a number if a JavaScript number can represent it exactly, else decimal text.
 */
export function jsonText(value: unknown): string {
  return `${textOf(value, "")}\n`;
}

/** Formats like {@link jsonText}, in pieces: only one value of a {@link RankedList} exists at a time. */
export function* jsonTextPieces(value: object): Generator<string, void, undefined> {
  let piece = "";
  for (const part of partsOf(value, "", LAZY_DEPTH)) {
    piece += part;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}\n`;
}

function* partsOf(value: unknown, margin: string, depth: number): Generator<string, void, undefined> {
  const inner = `${margin}  `;
  if (value instanceof RankedList) {
    let separator = "[";
    for (const each of value.first(value.length)) {
      yield `${separator}\n${inner}${textOf(each, inner)}`;
      separator = ",";
    }
    yield separator === "[" ? "[]" : `\n${margin}]`;
    return;
  }
  const members =
    depth === 0 || !isRecord(value) ? [] : Object.entries(value).filter(([, each]) => each !== undefined);
  if (members.length === 0) {
    yield textOf(value, margin);
    return;
  }
  let separator = "{";
  for (const [name, each] of members) {
    yield `${separator}\n${inner}${JSON.stringify(name)}: `;
    yield* partsOf(each, inner, depth - 1);
    separator = ",";
  }
  yield `\n${margin}}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param margin prefix of all lines except the first */
function textOf(value: unknown, margin: string): string {
  const replace = (_: string, item: unknown) =>
    typeof item !== "bigint" ? item : item <= Number.MAX_SAFE_INTEGER ? Number(item) : `${item}`;
  const text = JSON.stringify(value, replace, 2);
  return margin === "" ? text : text.replaceAll("\n", `\n${margin}`);
}

/** Most characters of a report without `-n` and `--full`. */
const MOST_LENGTH = 1 << 16;
/** Values that other lists than rankings keep while there is room. */
const LEAST_VALUES = 16;
const MOST_NAME = 1000;

/** Limits of lists: values of a ranking, and of any other list. */
interface Limits {
  readonly ranked: number;
  readonly others: number;
}

/** Returns a report with the first `rows` values of each ranking; everything else is whole. */
export function firstRows(document: object, rows: number): object {
  return cut(document, { ranked: rows, others: Number.POSITIVE_INFINITY });
}

/**
 * Returns a report of at most so many characters (64 KiB): as many values of each list as there is room for. A list of numbers, such as the
 * columns of intervals, is whole or empty. Longer names end in "…".
 */
export function bounded(document: object, mostLength = MOST_LENGTH): object {
  const fits = (limits: Limits) => {
    const shorter = cut(document, limits);
    return jsonText(shorter).length <= mostLength ? shorter : undefined;
  };
  const tryRows = (rows: number) => fits({ ranked: rows, others: Math.max(rows, LEAST_VALUES) });
  let best = tryRows(1);
  if (best === undefined) {
    for (let others = LEAST_VALUES; others > 0; others >>= 1) {
      const shorter = fits({ ranked: 0, others });
      if (shorter !== undefined) return shorter;
    }
    return cut(document, { ranked: 0, others: 0 });
  }
  let [least, most] = [1, 2];
  for (let next = tryRows(most); next !== undefined; next = tryRows(most)) {
    best = next;
    if (!("omitted" in best)) return best;
    [least, most] = [most, most * 2];
  }
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    const next = tryRows(middle);
    if (next === undefined) most = middle;
    else [best, least] = [next, middle];
  }
  return best;
}

function cut(document: object, { ranked, others }: Limits): object {
  const omitted = new Map<string, number>();
  const isWhole = others === Number.POSITIVE_INFINITY;
  const shorten = (value: unknown, path: string): unknown => {
    if (typeof value === "string" && !isWhole && value.length > MOST_NAME)
      return `${value.slice(0, MOST_NAME)}…`;
    if (typeof value !== "object" || value === null) return value;
    const isRanking = value instanceof RankedList;
    if (isRanking || Array.isArray(value)) {
      const isColumn = !isRanking && value.length > others && typeof value[0] === "number";
      const kept = Math.min(value.length, isRanking ? ranked : isColumn ? 0 : others);
      if (kept < value.length) omitted.set(path, (omitted.get(path) ?? 0) + value.length - kept);
      const shown = isRanking ? [...value.first(kept)] : value.slice(0, kept);
      return shown.map((each) => shorten(each, `${path}[]`));
    }
    const members = Object.entries(value).filter(([, each]) => each !== undefined);
    return Object.fromEntries(
      members.map(([name, each]) => [name, shorten(each, path === "" ? name : `${path}.${name}`)]),
    );
  };
  const shorter = shorten(document, "") as object;
  return omitted.size === 0 ? shorter : { ...shorter, omitted: Object.fromEntries(omitted) };
}
