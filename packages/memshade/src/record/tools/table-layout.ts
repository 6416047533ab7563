/**
 * Returns a layout's fields with a prefix, for a module's description.
 */
export function describeLayout<T extends number | string | boolean>(
  prefix: string,
  layout: Readonly<Record<string, T>>,
): Record<string, T> {
  return Object.fromEntries(Object.entries(layout).map(([key, value]) => [`${prefix}${key}`, value]));
}

/** Returns the layout from a module's description; undefined if it has none with this prefix. */
export function describedLayout<T>(
  prefix: string,
  described: Readonly<Record<string, number | string | boolean>>,
): T | undefined {
  const entries = Object.entries(described).filter(([key]) => key.startsWith(prefix));
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(prefix.length), value])) as T;
}

/** Returns the numbers and flags of a layout as constants for its runtime: `lastId` is the value of the import `LAST_ID`. */
export function constantsOf(layout: object): Record<string, number> {
  return Object.fromEntries(
    Object.entries(layout).flatMap(([key, value]) =>
      typeof value === "number" || typeof value === "boolean" ? [[constantName(key), Number(value)]] : [],
    ),
  );
}

function constantName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
