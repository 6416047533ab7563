/** What a module says of a layout of its own: the layout's fields, with a prefix. */
export function describeLayout<T extends number | string | boolean>(
  prefix: string,
  layout: Readonly<Record<string, T>>,
): Record<string, T> {
  return Object.fromEntries(Object.entries(layout).map(([key, value]) => [`${prefix}${key}`, value]));
}

/** The layout from what a module says of the tool; undefined where it has none. */
export function describedLayout<T>(
  prefix: string,
  described: Readonly<Record<string, number | string | boolean>>,
): T | undefined {
  const entries = Object.entries(described).filter(([key]) => key.startsWith(prefix));
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(prefix.length), value])) as T;
}
