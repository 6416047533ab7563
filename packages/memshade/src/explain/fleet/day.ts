/** Returns the UTC day of a time in milliseconds since 1970: 2026-11-24. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
