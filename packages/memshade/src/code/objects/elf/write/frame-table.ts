export interface FramedFunction {
  start: number;
  end: number;
  /** Canonical frame address from `offset` on: `cfa` bytes above the stack pointer. */
  rows: readonly { offset: number; cfa: number }[];
  /**
   * Registers saved `at` bytes below the canonical frame address, valid from `offset` on. Numbers are those of
   * instructions.
   */
  saved: readonly { register: number; offset: number; at: number }[];
  /** Range in which the canonical frame address is 16 bytes above rbp. */
  framePointer?: { from: number; to: number };
}

/** DWARF register numbers, by the numbers in instructions. */
const DWARF_REGISTERS = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];
const [RSP, RBP] = [7, 6];
const [ADVANCE, OFFSET, ADVANCE_4, DEF_CFA, DEF_CFA_OFFSET] = [0x40, 0x80, 0x04, 0x0c, 0x0e];
const SHORT_ADVANCE = 0x40;
/** Version, and encodings with 32 bits: pointers relative to the field, counts, a table relative to the header. */
const HEADER = [1, 0x1b, 0x03, 0x3b];
/**
 * Version 1 with augmentation "zR", code alignment 1, data alignment -8, return address in column 16, pointers
 * relative to the field. Then CFA = rsp + 8, and the return address is 8 bytes below.
 */
const CIE = [1, 0x7a, 0x52, 0, 1, 0x78, 16, 1, 0x1b, DEF_CFA, RSP, 8, OFFSET | 16, 1, 0, 0];
const WORD = 4;

/**
 * Writes `.eh_frame_hdr` followed by `.eh_frame`, for code at `codeAt` and the header at `at`. Functions must be
 * sorted by their starts. The length does not depend on the addresses.
 */
export function writeFrameTable(
  functions: readonly FramedFunction[],
  codeAt: number,
  at: number,
): Uint8Array {
  const entries = functions.map(instructionsOf);
  const headerBytes = HEADER.length + 2 * WORD + 2 * WORD * functions.length;
  const cieBytes = 2 * WORD + CIE.length;
  const fdeBytes = entries.map((instructions) => 2 * WORD + padded(2 * WORD + 1 + instructions.length));
  const total = headerBytes + cieBytes + fdeBytes.reduce((sum, bytes) => sum + bytes, 0) + WORD;
  const table = new Uint8Array(total);
  const view = new DataView(table.buffer);
  table.set(HEADER);
  view.setInt32(WORD, headerBytes - WORD, true);
  view.setUint32(2 * WORD, functions.length, true);

  view.setUint32(headerBytes, cieBytes - WORD, true);
  table.set(CIE, headerBytes + 2 * WORD);
  let fde = headerBytes + cieBytes;
  functions.forEach(({ start, end }, i) => {
    const row = 3 * WORD + 2 * WORD * i;
    view.setInt32(row, codeAt + start - at, true);
    view.setInt32(row + WORD, fde, true);
    view.setUint32(fde, fdeBytes[i] - WORD, true);
    view.setUint32(fde + WORD, fde + WORD - headerBytes, true);
    view.setInt32(fde + 2 * WORD, codeAt + start - (at + fde + 2 * WORD), true);
    view.setUint32(fde + 3 * WORD, end - start, true);
    table.set(entries[i], fde + 4 * WORD + 1);
    fde += fdeBytes[i];
  });
  return table;
}

function padded(bytes: number): number {
  return Math.ceil(bytes / WORD) * WORD;
}

interface Change {
  offset: number;
  bytes: number[];
}

function instructionsOf({ start, rows, saved, framePointer }: FramedFunction): number[] {
  const cfaAt = (offset: number) => rows.findLast((row) => row.offset <= offset)?.cfa ?? 8;
  const changes: Change[] = [
    ...rows
      .filter(({ offset }) => !(framePointer && framePointer.from <= offset && offset <= framePointer.to))
      .map(({ offset, cfa }) => ({ offset, bytes: [DEF_CFA_OFFSET, ...uleb(cfa)] })),
    ...saved.map(({ register, offset, at }) => ({
      offset,
      bytes: [OFFSET | DWARF_REGISTERS[register], ...uleb(at / 8)],
    })),
  ];
  if (framePointer !== undefined) {
    const { from, to } = framePointer;
    changes.push({ offset: from, bytes: [DEF_CFA, RBP, 16] });
    changes.push({ offset: to, bytes: [DEF_CFA, RSP, ...uleb(cfaAt(to))] });
  }
  let location = start;
  return changes
    .sort((a, b) => a.offset - b.offset)
    .flatMap(({ offset, bytes }) => {
      const distance = offset - location;
      location = offset;
      return [...advance(distance), ...bytes];
    });
}

function advance(distance: number): number[] {
  if (distance === 0) return [];
  if (distance < SHORT_ADVANCE) return [ADVANCE | distance];
  return [ADVANCE_4, ...[0, 8, 16, 24].map((shift) => (distance >>> shift) & 0xff)];
}

function uleb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...uleb(value >>> 7)];
}
