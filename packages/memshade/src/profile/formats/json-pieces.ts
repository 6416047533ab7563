const CHUNK = 4096;

/** Writes a JSON array in pieces of bounded length. */
export function* jsonArray(values: Iterable<unknown>): Generator<string> {
  let text = "[";
  let separator = "";
  let pending = 0;
  for (const value of values) {
    text += separator + JSON.stringify(value);
    separator = ",";
    if (++pending === CHUNK) {
      yield text;
      text = "";
      pending = 0;
    }
  }
  yield `${text}]`;
}

export function* jsonArrayOf(parts: Iterable<Generator<string>>): Generator<string> {
  let separator = "[";
  for (const part of parts) {
    yield separator;
    yield* part;
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

/** Writes a JSON object. Members that are generators are written in pieces, the others whole. */
export function* jsonObject(members: Record<string, unknown>): Generator<string> {
  let separator = "{";
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    if (isGenerator(value)) yield* value;
    else yield JSON.stringify(value);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}

function isGenerator(value: unknown): value is Generator<string> {
  return typeof value === "object" && value !== null && Symbol.iterator in value && "next" in value;
}
