/**
 * Where the fields of a struct lie behind its header, by the model of V8: in their order, aligned to their size up to that of a reference;
 * small ones fill the gap that alignment has left. All are bytes.
 */
export function placeFields(
  sizes: readonly number[],
  references: number,
): { readonly offsets: number[]; readonly end: number } {
  let end = 0;
  let gap = 0;
  let gapEnd = 0;
  const offsets = sizes.map((bytes) => {
    const alignment = Math.min(bytes, references);
    const inGap = roundUp(gap, alignment);
    if (inGap + bytes <= gapEnd) {
      gap = inGap + bytes;
      return inGap;
    }
    const start = roundUp(end, alignment);
    if (start - end > gapEnd - gap) [gap, gapEnd] = [end, start];
    end = start + bytes;
    return start;
  });
  return { offsets, end: roundUp(end, references) };
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
