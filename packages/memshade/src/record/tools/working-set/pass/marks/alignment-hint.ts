/**
 * Returns the alignment, as a power of two, that the access at `start` promises.
 */
export function alignmentHint(bytes: Uint8Array, start: number): number {
  let at = start;
  const prefixed = bytes[at] >= 0xfb && bytes[at] <= 0xfe;
  at++;
  if (prefixed) {
    while (bytes[at] > 127) at++;
    at++;
  }
  return bytes[at] & 31;
}
