/** Whether a set with a bit per site has one. */
export function has(set: Uint8Array, index: number): boolean {
  return (set[index >>> 3] & (1 << (index & 7))) !== 0;
}
