/** Returns the form of a noun that agrees with a number: `singular` for 1, `plural` otherwise. */
export function agreeing(count: number, singular: string, plural = `${singular}s`): string {
  return count === 1 ? singular : plural;
}

/** Formats a whole number with all digits: `1,234,567,890`. */
export function groupDigits(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * Formats a count with its noun: `1 block`, `12,345 blocks`. A verb may agree too: `counted(1, "block was", "blocks
 * were")`.
 */
export function counted(count: number, singular: string, plural?: string): string {
  return `${groupDigits(count)} ${agreeing(count, singular, plural)}`;
}
