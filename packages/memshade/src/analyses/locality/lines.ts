/** Size of a cache line, bytes. */
export const LINE_BYTES = 64;

/** Number of lines that the bytes `[address, address + size)` lie in; 0 for an empty range. */
export function linesTouched(address: number, size: number, lineBytes: number = LINE_BYTES): number {
  if (size === 0) return 0;
  return Math.floor((address + size - 1) / lineBytes) - Math.floor(address / lineBytes) + 1;
}

/** The lines of an access in ascending order: one reference each. */
export function* linesOf(
  address: number,
  size: number,
  lineBytes: number = LINE_BYTES,
): Generator<number, void, void> {
  const first = Math.floor(address / lineBytes);
  const count = linesTouched(address, size, lineBytes);
  for (let i = 0; i < count; i++) yield first + i;
}
