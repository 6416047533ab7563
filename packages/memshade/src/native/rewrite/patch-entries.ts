import { type Code, MARK } from "./code.ts";
import type { NewText } from "./emit.ts";
import type { FileLayout } from "./write-file.ts";

const JUMP = 0xe9;
const JUMP_BYTES = 5;
/** Bytes that nops and traps between functions consist of. */
const PADDING = new Set([0x90, 0xcc, 0x66, 0x2e, 0x0f, 0x1f, 0x40, 0x44, 0x80, 0x84, 0x00]);

/**
 * Writes jumps to the new code over the old one: where functions begin, and wherever addresses lead that are computed. A jump has the same
 * effect as the instructions that it stands in the place of, unless control arrives in its middle.
 *
 * @returns places without room for a jump; from there the old code runs
 */
export function patchEntries(code: Code, text: NewText, layout: FileLayout, file: Uint8Array): number {
  let unpatched = 0;
  for (const [f, { start, end, first, last }] of code.functions.entries()) {
    const limit = code.functions[f + 1]?.start ?? code.bytes.length;
    for (let i = first; i < last; i++) {
      const offset = code.offsets[i];
      if (offset !== start && (code.marks[offset] & MARK.label) === 0) continue;
      if (!hasRoom(code, offset, end, limit)) {
        unpatched++;
        continue;
      }
      const at = layout.fileOffset(code.base + offset);
      const distance = layout.textAddress + text.offsets[i] - (code.base + offset + JUMP_BYTES);
      file[at] = JUMP;
      for (let byte = 0; byte < 4; byte++) file[at + 1 + byte] = distance >> (8 * byte);
    }
  }
  return unpatched;
}

function hasRoom(code: Code, offset: number, end: number, limit: number): boolean {
  if (offset + JUMP_BYTES > limit) return false;
  for (let at = offset + 1; at < offset + JUMP_BYTES; at++) {
    if ((code.marks[at] & MARK.leader) !== 0) return false;
    if (at >= end && !PADDING.has(code.bytes[at])) return false;
  }
  return true;
}
