const USUAL = "bytes peak left lost temporary unaccessed dead redundant workingset object-bytes".split(" ");

const MOST_LISTED = 12;

/**
 * Lists words of measures for the message about an unknown one: all if they are few, else ten, the common ones first.
 *
 * @param command command whose help lists all
 */
export function someMeasures(ids: readonly string[], command: string): string {
  if (ids.length <= MOST_LISTED) return ids.join(", ");
  const usual = USUAL.filter((id) => ids.includes(id));
  const shown = [...usual, ...ids.filter((id) => !usual.includes(id))].slice(0, USUAL.length);
  return `${shown.join(", ")} or another that memshade ${command} --help lists`;
}
