import type { ObjectSymbol } from "../../../code/objects/symbol-table.ts";
import type { ObjectFile } from "../../../code/objects/types.ts";
import { frameEntries } from "../../../code/unwind/index.ts";
import type { Stubs } from "./stubs.ts";

/** As flags of sections and of segments. */
const [EXECUTABLE_SECTION, EXECUTABLE_SEGMENT] = [4, 1];
/** Shorter stretches are mostly padding and what every program starts and ends with: they need a symbol of their own. */
const LEAST_BYTES = 256;
/** `nop` and `int3`, which linkers and compilers fill with, beside zeros. */
const FILLING = new Set([0, 0x90, 0xcc]);
/** What compilers and C libraries bring without frames. */
const OF_EVERY_PROGRAM = new Set([
  "_init",
  "_fini",
  "_start",
  "frame_dummy",
  "deregister_tm_clones",
  "register_tm_clones",
  "__do_global_dtors_aux",
  "__do_global_ctors_aux",
  "__do_init",
  "__do_fini",
]);

interface Range {
  start: number;
  end: number;
}

/**
 * Bytes of code that no function of `.eh_frame` has. Tables that lie between functions are among them; stubs are not, nor are short
 * stretches without a name.
 *
 * @param base address (SVMA) that offsets of `stubs` count from
 */
export function bytesWithoutFrames(object: ObjectFile, stubs: Stubs, base: number): number {
  const frames = frameEntries(object).sort((a, b) => a.start - b.start);
  let bytes = 0;
  for (const range of executableRanges(object)) {
    if (stubs.has(range.start - base)) continue;
    let at = range.start;
    for (const { start, size } of frames) {
      if (start >= range.end) break;
      if (start + size <= at) continue;
      bytes += bytesOfCode(object, at, start);
      at = start + size;
    }
    bytes += bytesOfCode(object, at, range.end);
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

/** Of a stretch between functions. */
function bytesOfCode(object: ObjectFile, start: number, end: number): number {
  const from = end - start >= LEAST_BYTES ? start : (firstSymbol(object, start, end)?.address ?? end);
  return from < end && object.bytesAt(from, end - from).some((byte) => !FILLING.has(byte)) ? end - from : 0;
}

function firstSymbol(object: ObjectFile, start: number, end: number): ObjectSymbol | undefined {
  const symbols = object.symbols();
  for (let i = symbols.lastAtOrBefore(start - 1) + 1; i < symbols.length && symbols.addresses[i] < end; i++) {
    const symbol = symbols.at(i);
    if (symbol.kind !== "data" && !OF_EVERY_PROGRAM.has(symbol.name)) return symbol;
  }
  return undefined;
}
