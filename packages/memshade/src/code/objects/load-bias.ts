import type { ObjectFile, ObjectSegment } from "./types.ts";

const PF_X = 1;
/** Page sizes of supported systems: the first for x86-64, any of them for AArch64. */
const PAGE_SIZES = [0x1000, 0x4000, 0x1_0000];

/**
 * Returns the load bias of a mapped piece of an object: its address in the process minus its address in the
 * object.
 *
 * A segment is mapped in whole pages, beginning with the page in which it starts. Neighbouring segments may
 * share that page. Then the segment that starts in the page counts; of several, the one with code. A piece
 * that begins inside of a segment results from a split mapping.
 *
 * @param start address of the mapped piece
 * @param fileOffset its offset in the file
 * @returns undefined if no loaded segment has that part of the file
 */
export function loadBias({ segments }: ObjectFile, start: number, fileOffset: number): number | undefined {
  for (const page of PAGE_SIZES) {
    const starting = segments.filter((segment) => floor(segment.fileOffset, page) === fileOffset);
    const segment = starting.find(({ flags }) => (flags & PF_X) !== 0) ?? starting[0];
    if (segment !== undefined) return start - floor(segment.address, page);
  }
  const enclosing = segments.findLast((segment) => holds(segment, fileOffset));
  return enclosing && start - (enclosing.address + fileOffset - enclosing.fileOffset);
}

function holds({ fileOffset, fileSize }: ObjectSegment, offset: number): boolean {
  return offset >= fileOffset && offset < fileOffset + fileSize;
}

function floor(value: number, page: number): number {
  return value - (value % page);
}
