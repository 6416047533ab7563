/** Values of an array that are made one by one, when they are written. */
export class LazyArray {
  readonly values: Iterable<unknown>;

  constructor(values: Iterable<unknown>) {
    this.values = values;
  }
}

/** Pieces are at least so long, but for the last one. */
const PIECE_LENGTH = 1 << 16;
/** Objects down to here may have a {@link LazyArray} in them. */
const LAZY_DEPTH = 3;

/** JSON text; a u64 is a number where a JavaScript number holds it exactly, else decimal text. */
export function jsonText(value: unknown): string {
  return `${textOf(value, "")}\n`;
}

/** As {@link jsonText}, in pieces: only one value of a {@link LazyArray} is there at a time. */
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

/** @param margin in front of all lines but the first */
function textOf(value: unknown, margin: string): string {
  const replace = (_: string, item: unknown) =>
    typeof item !== "bigint" ? item : item <= Number.MAX_SAFE_INTEGER ? Number(item) : `${item}`;
  const text = JSON.stringify(value, replace, 2);
  return margin === "" ? text : text.replaceAll("\n", `\n${margin}`);
}
