import type { PointerRoots } from "../../../options.ts";

/** Stacks are at least that large: no linker makes them smaller by itself. */
const SMALLEST_STACK_BYTES = 65_536;
/** Allocators keep what they know of a block in front of it. */
const HEADER_BYTES = 16;

/** Where the heap and the stack are now. */
export interface HeapAndStack {
  /** Address of the lowest block that there ever was, as far as that is known. */
  lowestBlock: number;
  /** Value of the stack pointer, if it is known. */
  stackPointer: number | undefined;
  memoryBytes: number;
}

/**
 * Beginnings and ends of the memory in which pointers are roots: static data, and the stack as far as it is in use.
 *
 *     0 ─────────── stack, not in use  no root: what was there may have been released since
 *     pointer ───── stack, in use      root
 *     stackTo ───── static data        root, but for the allocator's own
 *     heap ──────── blocks             no roots, nor what lies between them: freed memory, and the allocator's own
 *     … dataEnd     static data        root, if there is some behind
 */
export function rootRanges(roots: PointerRoots, now: HeapAndStack): number[] {
  const { dataEnd, allocatorState } = roots;
  const heap = now.lowestBlock - HEADER_BYTES;
  const end = Math.min(now.memoryBytes, Math.max(heap, dataEnd));
  return without(0, end, [...unusedStack(roots, now.stackPointer), ...allocatorState]);
}

/** The part of the stack that is not in use, as beginning and end. */
function unusedStack({ stackFrom, stackTo }: PointerRoots, pointer: number | undefined): number[] {
  if (pointer === undefined || pointer <= stackFrom || pointer > stackTo) return [];
  // Below a stack that lies above the data there may be more of them, zeroed at the start.
  const from = stackFrom === 0 ? 0 : Math.max(stackFrom, stackTo - SMALLEST_STACK_BYTES);
  return from < pointer ? [from, pointer] : [];
}

function without(from: number, to: number, holes: readonly number[]): number[] {
  const starts = holes.flatMap((_, i) => (i % 2 === 0 ? [i] : [])).sort((a, b) => holes[a] - holes[b]);
  const ranges: number[] = [];
  let at = from;
  for (const i of starts) {
    if (holes[i] > at) ranges.push(at, Math.min(holes[i], to));
    at = Math.max(at, holes[i + 1]);
    if (at >= to) return ranges;
  }
  ranges.push(at, to);
  return ranges;
}
