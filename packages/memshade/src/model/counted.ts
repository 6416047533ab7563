/** The form of a noun that agrees with a number: the first for 1, and the other one for everything else. */
export function agreeing(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** `1 block`, `12,345 blocks`; words that follow may agree too: `counted(1, "block was", "blocks were")`. */
export function counted(count: number, one: string, many?: string): string {
  return `${count.toLocaleString("en-US")} ${agreeing(count, one, many)}`;
}
