/** Of all tools, what is asked for most. */
const USUAL = "bytes peak left lost temporary unaccessed dead redundant workingset object-bytes".split(" ");

/** More words than this are read by nobody whose own word was wrong. */
const MOST_LISTED = 12;

/**
 * Words of measures for a line that refuses another one: all where these are few, else ten of them, the usual ones first.
 *
 * @param command whose help lists all
 */
export function someMeasures(ids: readonly string[], command: string): string {
  if (ids.length <= MOST_LISTED) return ids.join(", ");
  const usual = USUAL.filter((id) => ids.includes(id));
  const shown = [...usual, ...ids.filter((id) => !usual.includes(id))].slice(0, USUAL.length);
  return `${shown.join(", ")} or another that memshade ${command} --help lists`;
}
