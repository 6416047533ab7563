import type { BlockList } from "../../tools/heap/read/reach/block-list.ts";
import { baseName, isAnonymous, type MappedRange } from "./mapped-ranges.ts";

const C_LIBRARY = /^libc[.-]/;

/**
 * Returns a predicate for words in the C library's data that are addresses of free memory, not of a block.
 * The allocator's lists refer to the chunk after a block, whose head may overlap the end of that block.
 */
export function isChunkHead(
  ranges: readonly MappedRange[],
  blocks: BlockList,
): (value: number, at: number, block: number) => boolean {
  const data: number[] = [];
  ranges.forEach((range, i) => {
    const before = ranges[i - 1];
    const isBehind =
      before?.end === range.start && C_LIBRARY.test(baseName(before.path)) && isAnonymous(range);
    if (range.access[1] === "w" && (isBehind || C_LIBRARY.test(baseName(range.path))))
      data.push(range.start, range.end);
  });
  return (value, at, block) => {
    let isOfLibrary = false;
    for (let i = 0; i < data.length; i += 2) isOfLibrary ||= at >= data[i]! && at < data[i + 1]!;
    if (!isOfLibrary) return false;
    const size = blocks.sizes[block];
    const chunk = Math.max(32, 16 * Math.floor((size + 8 + 15) / 16));
    return value === blocks.starts[block] + chunk - 16;
  };
}
