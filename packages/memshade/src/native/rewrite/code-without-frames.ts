import type { ObjectFile } from "../../objects/types.ts";
import { frameEntries } from "../../unwind/index.ts";
import type { Stubs } from "./stubs.ts";

/** As flags of sections and of segments. */
const [EXECUTABLE_SECTION, EXECUTABLE_SEGMENT] = [4, 1];
/** Between functions is padding, and the C compiler's few functions that run at start and end have no frames in any program. */
const LEAST_BYTES = 256;
/** `nop` and `int3`, which linkers and compilers fill with, beside zeros. */
const FILLING = new Set([0, 0x90, 0xcc]);

interface Range {
  start: number;
  end: number;
}

/**
 * Bytes of code that no function of `.eh_frame` has, but for short stretches and stubs. Tables that lie between functions are among them.
 *
 * @param base address (SVMA) that offsets of `stubs` count from
 */
export function bytesWithoutFrames(object: ObjectFile, stubs: Stubs, base: number): number {
  const frames = frameEntries(object).sort((a, b) => a.start - b.start);
  let bytes = 0;
  for (const range of executableRanges(object)) {
    if (stubs.has(range.start - base)) continue;
    let at = range.start;
    const pass = (start: number): void => {
      if (start - at >= LEAST_BYTES && object.bytesAt(at, start - at).some((byte) => !FILLING.has(byte)))
        bytes += start - at;
    };
    for (const { start, size } of frames) {
      if (start >= range.end) break;
      if (start + size <= at) continue;
      pass(start);
      at = start + size;
    }
    pass(range.end);
  }
  return bytes;
}

/** Sections, or where there are none what is loaded. */
function executableRanges({ sections, segments }: ObjectFile): Range[] {
  const own = sections.filter(({ flags, address }) => (flags & EXECUTABLE_SECTION) !== 0 && address !== 0);
  if (own.length > 0) return own.map(({ address, size }) => ({ start: address, end: address + size }));
  return segments
    .filter(({ flags }) => (flags & EXECUTABLE_SEGMENT) !== 0)
    .map(({ address, fileSize }) => ({ start: address, end: address + fileSize }));
}
