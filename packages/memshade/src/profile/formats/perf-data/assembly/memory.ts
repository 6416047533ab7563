// Room that grows at the end of the memory; it is never given back.
//
//   SAMPLE   the sample that was decoded last: sample.ts
//   HEAP     what `allocate` gives out

export const SAMPLE: u32 = 1024;
const HEAP: u32 = 4096;

let top: u32 = HEAP;

/** Address of so many bytes, at a multiple of 16. */
export function allocate(bytes: u32): u32 {
  const at = top;
  if (bytes > 0x7fff_0000 - top) unreachable();
  top = (top + bytes + 15) & ~15;
  const pages = (top + 0xffff) >>> 16;
  if (pages > <u32>memory.size()) {
    if (memory.grow(pages - memory.size()) < 0) unreachable();
  }
  return at;
}
