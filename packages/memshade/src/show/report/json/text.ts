/** An array whose values are created one by one while they are written. */
export class LazyArray<Value = unknown> {
  readonly values: Iterable<Value>;

  constructor(values: Iterable<Value>) {
    this.values = values;
  }
}

/** Least length of a piece, except for the last one. */
const PIECE_LENGTH = 1 << 16;
/** Objects down to this depth may contain a {@link LazyArray}. */
const LAZY_DEPTH = 3;

/**
 * Formats JSON text. A u64 is a number if a JavaScript number can represent it exactly, else decimal text.
 */
export function jsonText(value: unknown): string {
  return `${textOf(value, "")}\n`;
}

/** Formats like {@link jsonText}, in pieces: only one value of a {@link LazyArray} exists at a time. */
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
  if (value instanceof LazyArray) {
    let separator = "[";
    for (const each of value.values) {
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
