/**
 * Removes the suffixes of a symbol's copies: everything from the first dot on, except `.__uniq.` and its number
 * (memprof-format, section 12).
 */
export function canonicalSymbol(name: string): string {
  const unique = name.indexOf(".__uniq.");
  const from = unique < 0 ? 0 : unique + ".__uniq.".length;
  const dot = name.indexOf(".", from);
  return dot <= 0 ? name : name.slice(0, dot);
}
