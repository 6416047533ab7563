import type { ObjectFile, ObjectSegment } from "./types.ts";

const PF_X = 1;
/** Page sizes that systems map with: x86-64 has the first, AArch64 may have any. */
const PAGE_SIZES = [0x1000, 0x4000, 0x1_0000];

/**
 * The load bias of a mapped piece of an object: its address in the process minus the one in the object.
 *
 * A segment is mapped in whole pages, from the page of the file in which it starts on. Neighbouring segments may share
 * such a page: the one that starts in it is meant, of several the one with code if code is mapped. Pieces that begin
 * inside of a segment come about when a mapping is split.
 *
 * @param start where the piece is mapped @param fileOffset offset in the file of what is mapped there
 * @returns undefined if no loaded segment has that part of the file
 */
export function loadBias({ segments }: ObjectFile, start: number, fileOffset: number): number | undefined {
  for (const page of PAGE_SIZES) {
    const starting = segments.filter((segment) => floor(segment.fileOffset, page) === fileOffset);
    const segment = starting.find(({ flags }) => (flags & PF_X) !== 0) ?? starting[0];
    if (segment !== undefined) return start - floor(segment.address, page);
  }
  const around = segments.findLast((segment) => holds(segment, fileOffset));
  return around && start - (around.address + fileOffset - around.fileOffset);
}

function holds({ fileOffset, fileSize }: ObjectSegment, offset: number): boolean {
  return offset >= fileOffset && offset < fileOffset + fileSize;
}

function floor(value: number, page: number): number {
  return value - (value % page);
}
