import { headersEnd, PF_R, PF_X, writeElfImage } from "../../../../../code/objects/elf/write/image.ts";
import {
  Assembler,
  type Label,
  place,
  R8,
  R9,
  R10,
  R12,
  R13,
  R14,
  R15,
  RAX,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  relative,
} from "../../../../../code/x64/index.ts";
import { exitWith, systemCall } from "../../../start/system-calls.ts";

/** Range of file offsets whose words are added to the counts (`sign` 1) or subtracted (−1). */
export interface CountedPart {
  from: number;
  to: number;
  sign: 1 | -1;
}

const ET_EXEC = 2;
const ADDRESS = 0x40_0000;
const SYSTEM = { write: 1, seek: 8, map: 9, unmap: 11 } as const;
const [SEEK_DATA, SEEK_HOLE] = [3, 4];
const [READ, READ_WRITE] = [1, 3];
const [MAP_SHARED, MAP_ANONYMOUS] = [1, 0x22];
const WORDS = 4;
const ROW_BYTES = 24;
/** Size of the result: a u64 count for each 16-bit word. */
export const UNREAD_COUNTS_BYTES = 65_536 * 8;

/**
 * Builds a static ELF program that counts the 16-bit words of a sparse file by value. The file is its standard input;
 * 65,536 counts go to its standard output. Holes, which were never written, are skipped. The counts of 0 and 0xffff,
 * the most frequent words, may be too low.
 */
export function unreadReaderProgram(parts: readonly CountedPart[]): Uint8Array {
  const asm = new Assembler();
  const rows = new BigInt64Array(parts.flatMap(({ from, to, sign }) => [from, to, sign].map(BigInt)));
  const [failed, done, row, extent, nextRow, loop, next] = Array.from({ length: 7 }, () => asm.label());
  asm.put("xor", 4, RDI, RDI);
  asm.put("mov", 4, RSI, UNREAD_COUNTS_BYTES);
  asm.put("mov", 4, RDX, READ_WRITE);
  asm.put("mov", 4, R10, MAP_ANONYMOUS);
  asm.put("mov", 8, R8, -1);
  asm.put("xor", 4, R9, R9);
  callUnlessFailed(asm, SYSTEM.map, failed);
  asm.put("mov", 8, R15, RAX);
  asm.put("lea", 8, RBX, relative(asm.literal(new Uint8Array(rows.buffer))));
  asm.put("mov", 4, R14, parts.length);

  asm.bind(row);
  asm.put("mov", 8, R12, place(RBX));
  // Extent of data: r12 to r13.
  asm.bind(extent);
  seek(asm, SEEK_DATA, nextRow);
  asm.put("mov", 8, R12, RAX);
  asm.put("cmp", 8, R12, place(RBX, 8));
  asm.jump(nextRow, "ae");
  seek(asm, SEEK_HOLE, failed);
  asm.put("mov", 8, R13, RAX);
  const isInside = asm.label();
  asm.put("cmp", 8, R13, place(RBX, 8));
  asm.jump(isInside, "be");
  asm.put("mov", 8, R13, place(RBX, 8));
  asm.bind(isInside);
  asm.put("xor", 4, RDI, RDI);
  asm.put("mov", 8, RSI, R13);
  asm.put("sub", 8, RSI, R12);
  asm.put("mov", 4, RDX, READ);
  asm.put("mov", 4, R10, MAP_SHARED);
  asm.put("xor", 4, R8, R8);
  asm.put("mov", 8, R9, R12);
  callUnlessFailed(asm, SYSTEM.map, failed);
  asm.put("mov", 8, RDI, RAX);
  asm.put("mov", 8, RDX, place(RBX, 16));
  asm.put("mov", 8, RCX, R13);
  asm.put("sub", 8, RCX, R12);
  asm.bind(loop);
  asm.put("mov", 8, R8, place(RAX));
  asm.put("lea", 8, R9, place(R8, 1));
  asm.put("cmp", 8, R9, 1);
  asm.jump(next, "be");
  for (let word = 0; word < WORDS; word++) {
    asm.put("movzx.w", 4, R8, place(RAX, 2 * word));
    asm.put("add", 8, place(R15, 0, R8, 8), RDX);
  }
  asm.bind(next);
  asm.put("add", 8, RAX, 2 * WORDS);
  asm.put("sub", 8, RCX, 2 * WORDS);
  asm.jump(loop, "ne");
  asm.put("mov", 8, RSI, R13);
  asm.put("sub", 8, RSI, R12);
  systemCall(asm, SYSTEM.unmap);
  asm.put("mov", 8, R12, R13);
  asm.jump(extent);

  asm.bind(nextRow);
  asm.put("add", 8, RBX, ROW_BYTES);
  asm.put("sub", 4, R14, 1);
  asm.jump(row, "ne");

  // A write to a pipe may be partial.
  asm.put("mov", 4, R13, UNREAD_COUNTS_BYTES);
  const more = asm.label();
  asm.bind(more);
  asm.put("mov", 4, RDI, 1);
  asm.put("mov", 8, RSI, R15);
  asm.put("mov", 8, RDX, R13);
  callUnlessFailed(asm, SYSTEM.write, failed);
  asm.put("add", 8, R15, RAX);
  asm.put("sub", 8, R13, RAX);
  asm.jump(more, "ne");
  asm.jump(done);
  asm.bind(failed);
  exitWith(asm, 1);
  asm.bind(done);
  exitWith(asm, 0);
  const code = asm.finish().bytes;
  const address = ADDRESS + headersEnd(1);
  return writeElfImage({
    type: ET_EXEC,
    entry: address,
    segments: [{ flags: PF_R | PF_X, address, bytes: code }],
  });
}

function callUnlessFailed(asm: Assembler, number: number, failed: Label): void {
  systemCall(asm, number);
  asm.put("test", 8, RAX, RAX);
  asm.jump(failed, "s");
}

/** Seeks from r12 on. Jumps to `nothing` at the end of the file. */
function seek(asm: Assembler, whence: number, nothing: Label): void {
  asm.put("xor", 4, RDI, RDI);
  asm.put("mov", 8, RSI, R12);
  asm.put("mov", 4, RDX, whence);
  callUnlessFailed(asm, SYSTEM.seek, nothing);
}
