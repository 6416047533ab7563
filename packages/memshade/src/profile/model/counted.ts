/** The form of a noun that agrees with a number: the first for 1, and the other one for everything else. */
export function agreeing(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** A whole number in full: `1,234,567,890`. */
export function groupDigits(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 block`, `12,345 blocks`; words that follow may agree too: `counted(1, "block was", "blocks were")`. */
export function counted(count: number, one: string, many?: string): string {
  return `${groupDigits(count)} ${agreeing(count, one, many)}`;
}
