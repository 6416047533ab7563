/** Whether a set with a bit per site has one. */
export function has(set: Uint8Array, index: number): boolean {
  return (set[index >>> 3] & (1 << (index & 7))) !== 0;
}

/** A count of 64 bits; those beyond 2^53 are not exact. */
export function readCount(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
