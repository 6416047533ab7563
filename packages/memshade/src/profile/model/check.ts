import { UserError } from "../../ground/bytes/errors.ts";

/**
 * Check of parsed JSON. A check returns its argument, typed, or throws a UserError with the position
 * (`heap.sites[3].stackId`) and the expectation. Unknown keys are accepted.
 */
export type Check<T> = (value: unknown) => T;

/**
 * Error with the position and the fault. The position is extended while the error passes enclosing values, because most
 * files are valid and need no positions.
 */
class Misfit extends UserError {
  readonly #place: string;
  readonly #fault: string;

  constructor(place: string, fault: string) {
    super(`${place === "" ? "the file" : place} ${fault}`);
    this.#place = place;
    this.#fault = fault;
  }

  atPlace(place: string): Misfit {
    const separator = this.#place === "" || this.#place.startsWith("[") ? "" : ".";
    return new Misfit(`${place}${separator}${this.#place}`, this.#fault);
  }
}

/** Throws an error about the checked value; `fault` reads `should be …`. */
export function misfit(fault: string): never {
  throw new Misfit("", fault);
}

/** Checks a part of a value; `place` is its position: a key, or `[3]`. */
export function part<T>(place: string, check: Check<T>, value: unknown): T {
  try {
    return check(value);
  } catch (error) {
    throw within(place, error);
  }
}

function within(place: string, error: unknown): unknown {
  return error instanceof Misfit ? error.atPlace(place) : error;
}

export const text: Check<string> = (value) => (typeof value === "string" ? value : fail("text", value));

export const flag: Check<boolean> = (value) =>
  typeof value === "boolean" ? value : fail("true or false", value);

export const integer: Check<number> = (value) =>
  Number.isSafeInteger(value) ? (value as number) : fail("a whole number", value);

export const count: Check<number> = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : fail("a count", value);

export const number: Check<number> = (value) =>
  Number.isFinite(value) ? (value as number) : fail("a number", value);

/** Checks text with a pattern; `expected` describes it for the message. */
export function textLike(pattern: RegExp, expected: string): Check<string> {
  return (value) => (typeof value === "string" && pattern.test(value) ? value : fail(expected, value));
}

export function oneOf<const T extends string | number>(...allowed: T[]): Check<T> {
  return (value) =>
    allowed.includes(value as T)
      ? (value as T)
      : fail(allowed.map((item) => JSON.stringify(item)).join(" or "), value);
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined ? undefined : check(value));
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value) => (value === null ? null : check(value));
}

export function list<T>(check: Check<T>): Check<T[]> {
  return (value) => {
    if (!Array.isArray(value)) return fail("a list", value);
    let index = 0;
    try {
      for (; index < value.length; index++) check(value[index]);
    } catch (error) {
      throw within(`[${index}]`, error);
    }
    return value;
  };
}

/** Checks several keys of an object alike. */
export function each<T, const Key extends string>(check: Check<T>, ...keys: Key[]): Record<Key, Check<T>> {
  return Object.fromEntries(keys.map((key) => [key, check])) as Record<Key, Check<T>>;
}

/** Checks an object that has (at least) the given keys; a key that the type makes optional may be missing. */
export function record<T extends object>(
  checks: {
    [Key in keyof T]-?: Check<T[Key] | (object extends Pick<T, Key> ? undefined : never)>;
  },
): Check<T> {
  const entries = Object.entries(checks) as [string, Check<unknown>][];
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return fail("an object", value);
    let place = "";
    try {
      for (const [key, check] of entries) {
        place = key;
        check((value as Record<string, unknown>)[key]);
      }
    } catch (error) {
      throw within(place, error);
    }
    return value as T;
  };
}

export const settings: Check<Record<string, string | number | boolean>> = (value) => {
  const entries = record<object>({})(value);
  for (const [key, entry] of Object.entries(entries))
    if (!["string", "number", "boolean"].includes(typeof entry))
      return part(key, (plain) => fail("a plain value", plain), entry);
  return entries as Record<string, string | number | boolean>;
};

/**
 * Parses a JSON text that names its schema and version.
 *
 * @param predicate text for the error about another schema, such as "does not describe …"
 */
export function parseVersioned(
  json: string,
  schema: string,
  version: number | readonly number[],
  predicate: string,
): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UserError("it is not JSON");
  }
  const header = value as { schema?: unknown; version?: unknown } | null;
  if (typeof header !== "object" || header === null || header.schema !== schema)
    throw new UserError(`it ${predicate} (its schema is not "${schema}")`);
  const versions = [version].flat();
  if (!versions.includes(header.version as number))
    throw new UserError(
      `it has version ${JSON.stringify(header.version)}, this memshade reads version ${versions.join(" or ")}`,
    );
  return value;
}

/** Returns a value as JSON; undefined for values that JSON lacks. */
export function shown(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}

function fail(expected: string, value: unknown): never {
  const found = value === undefined ? "it is missing" : `found ${shorten(shown(value)!)}`;
  misfit(`should be ${expected}, but ${found}`);
}

function shorten(json: string): string {
  return json.length > 40 ? `${json.slice(0, 39)}…` : json;
}
