// The memory: what one call needs, which the next one overwrites.

/** Bytes behind a piece of input: a number at its end is read without a look at where it ends. */
export const PADDING: u32 = 16;

/** No table of a real program needs more; what would is left to the reader in TypeScript. */
const MOST_BYTES: u32 = 1 << 30;

const FIRST: u32 = (__heap_base + 15) & ~15;

let top: u32 = FIRST;

/** Set when something is met that is left to the reader in TypeScript: what was computed by then is of no use. */
export let isDeclined: bool = false;

export function decline(): void {
  isDeclined = true;
}

/** Begins something new. */
export function begin(): void {
  top = FIRST;
  isDeclined = false;
}

/** Room for bytes, at a multiple of 16, with `PADDING` behind it; 0 if there is none. */
export function reserve(bytes: u32): u32 {
  const start = top;
  if (bytes > MOST_BYTES - start) {
    isDeclined = true;
    return 0;
  }
  const end = (start + bytes + PADDING + 15) & ~15;
  const pages = (end + 0xffff) >>> 16;
  const present = <u32>memory.size();
  if (pages > present && memory.grow(max(pages - present, min(present, 256))) < 0) {
    isDeclined = true;
    return 0;
  }
  top = end;
  return start;
}

/** Room for twice the bytes, with a copy of what stands there. */
export function enlarged(start: u32, bytes: u32): u32 {
  const larger = reserve(bytes * 2);
  if (larger !== 0) memory.copy(larger, start, bytes);
  return larger;
}
