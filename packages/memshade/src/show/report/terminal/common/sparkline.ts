const LEVELS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/**
 * Values as a line of blocks, the largest one full. More values than columns are drawn by the largest of their group,
 * fewer ones stand alone; zero is a space.
 */
export function sparkline(values: readonly number[], width: number): string {
  const columns = Math.min(width, values.length);
  const largest = values.reduce((most, value) => Math.max(most, value), 0);
  let line = "";
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / columns));
    const value = values.slice(from, to).reduce((most, one) => Math.max(most, one), 0);
    line += value === 0 ? " " : LEVELS[Math.max(0, Math.ceil((value / largest) * LEVELS.length) - 1)];
  }
  return line;
}
