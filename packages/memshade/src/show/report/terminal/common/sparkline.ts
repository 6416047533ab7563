const LEVELS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/**
 * Draws values as a line of block characters; the largest value is full height, zero is a space. If there are
 * more values than columns, each column shows the largest of its group.
 */
export function sparkline(values: readonly number[], width: number): string {
  const columns = Math.min(width, values.length);
  const largest = values.reduce((most, value) => Math.max(most, value), 0);
  let line = "";
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / columns));
    const value = values.slice(from, to).reduce((most, value) => Math.max(most, value), 0);
    line += value === 0 ? " " : LEVELS[Math.max(0, Math.ceil((value / largest) * LEVELS.length) - 1)];
  }
  return line;
}
