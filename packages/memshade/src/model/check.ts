import { UserError } from "../bytes/errors.ts";

/**
 * Checks of parsed JSON. A check returns the value it was given, typed, or throws a UserError that names the
 * place (`heap.sites[3].stackId`) and what was expected there. Unknown keys are let through.
 */
export type Check<T> = (value: unknown, path: string) => T;

export const text: Check<string> = (value, path) =>
  typeof value === "string" ? value : fail(path, "text", value);

export const flag: Check<boolean> = (value, path) =>
  typeof value === "boolean" ? value : fail(path, "true or false", value);

export const integer: Check<number> = (value, path) =>
  Number.isSafeInteger(value) ? (value as number) : fail(path, "a whole number", value);

/** A whole number from 0. */
export const count: Check<number> = (value, path) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : fail(path, "a count", value);

export const number: Check<number> = (value, path) =>
  Number.isFinite(value) ? (value as number) : fail(path, "a number", value);

/** Text that a pattern accepts; `expected` describes it for the message. */
export function textLike(pattern: RegExp, expected: string): Check<string> {
  return (value, path) =>
    typeof value === "string" && pattern.test(value) ? value : fail(path, expected, value);
}

export function oneOf<const T extends string | number>(...allowed: T[]): Check<T> {
  return (value, path) =>
    allowed.includes(value as T)
      ? (value as T)
      : fail(path, allowed.map((item) => JSON.stringify(item)).join(" or "), value);
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === null ? null : check(value, path));
}

export function list<T>(check: Check<T>): Check<T[]> {
  return (value, path) =>
    Array.isArray(value)
      ? value.map((item, index) => check(item, `${path}[${index}]`))
      : fail(path, "a list", value);
}

/** An object that has (at least) the given keys; a key that the type makes optional may be missing. */
export function record<T extends object>(
  checks: {
    [Key in keyof T]-?: Check<T[Key] | (object extends Pick<T, Key> ? undefined : never)>;
  },
): Check<T> {
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return fail(path, "an object", value);
    }
    for (const [key, check] of Object.entries(checks) as [string, Check<unknown>][]) {
      check((value as Record<string, unknown>)[key], path === "" ? key : `${path}.${key}`);
    }
    return value as T;
  };
}

/** An object of plain values under any names. */
export const settings: Check<Record<string, string | number | boolean>> = (value, path) => {
  const entries = record<object>({})(value, path);
  for (const [key, entry] of Object.entries(entries))
    if (!["string", "number", "boolean"].includes(typeof entry))
      return fail(`${path}.${key}`, "a plain value", entry);
  return entries as Record<string, string | number | boolean>;
};

/**
 * The value in a JSON text that names its schema and version.
 *
 * @param what the text is not where the schema is another, as a predicate
 */
export function parseVersioned(json: string, schema: string, version: number, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UserError("it is not JSON");
  }
  const header = value as { schema?: unknown; version?: unknown } | null;
  if (typeof header !== "object" || header === null || header.schema !== schema)
    throw new UserError(`it ${what} (its schema is not "${schema}")`);
  if (header.version !== version)
    throw new UserError(
      `it has version ${JSON.stringify(header.version)}, this memshade reads version ${version}`,
    );
  return value;
}

function fail(path: string, expected: string, value: unknown): never {
  const found = value === undefined ? "it is missing" : `found ${shorten(JSON.stringify(value))}`;
  throw new UserError(`${path === "" ? "the file" : path} should be ${expected}, but ${found}`);
}

function shorten(json: string): string {
  return json.length > 40 ? `${json.slice(0, 39)}…` : json;
}
