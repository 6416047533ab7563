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
