import { FormatError } from "../../../bytes/errors.ts";
import { ELF_MAGIC, ELFCLASS64, ELFDATA2LSB, EM_X86_64, PT_LOAD } from "../constants.ts";

/** What a part of a file becomes in memory. */
export interface ImageSegment {
  /** PT_…; PT_LOAD without */
  type?: number;
  /** PF_… */
  flags: number;
  /** virtual address */
  address: number;
  bytes: Uint8Array;
  /** Bytes in memory, where they are more than in the file: the others are 0. */
  memoryBytes?: number;
}

export interface ElfImage {
  /** ET_… */
  type: number;
  /** virtual address of the first instruction; 0: none */
  entry: number;
  segments: readonly ImageSegment[];
}

export const PF_X = 1;
export const PF_W = 2;
export const PF_R = 4;

const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const PAGE_BYTES = 0x1000;
const WORD_BYTES = 8;

/** A little-endian ELF file of x86-64 without sections. Each segment lies in the file as it lies in its page. */
export function writeElfImage({ type, entry, segments }: ElfImage): Uint8Array {
  let length = HEADER_BYTES + PROGRAM_HEADER_BYTES * segments.length;
  const offsets = segments.map(({ address, bytes }) => {
    if (!Number.isSafeInteger(address) || address < 0)
      throw new FormatError("malformed", 0, "segment", "its address is no address");
    length += (PAGE_BYTES + (address % PAGE_BYTES) - (length % PAGE_BYTES)) % PAGE_BYTES;
    const offset = length;
    length += bytes.length;
    return offset;
  });
  const file = new Uint8Array(length);
  const view = new DataView(file.buffer);
  const u64 = (at: number, value: number) => view.setBigUint64(at, BigInt(value), true);

  view.setUint32(0, ELF_MAGIC, true);
  file.set([ELFCLASS64, ELFDATA2LSB, 1], 4);
  view.setUint16(16, type, true);
  view.setUint16(18, EM_X86_64, true);
  view.setUint32(20, 1, true);
  u64(24, entry);
  u64(32, HEADER_BYTES);
  view.setUint16(52, HEADER_BYTES, true);
  view.setUint16(54, PROGRAM_HEADER_BYTES, true);
  view.setUint16(56, segments.length, true);

  segments.forEach((segment, i) => {
    const { address, bytes } = segment;
    const at = HEADER_BYTES + PROGRAM_HEADER_BYTES * i;
    const kind = segment.type ?? PT_LOAD;
    view.setUint32(at, kind, true);
    view.setUint32(at + 4, segment.flags, true);
    u64(at + 8, offsets[i]);
    u64(at + 16, address);
    u64(at + 24, address);
    u64(at + 32, bytes.length);
    u64(at + 40, segment.memoryBytes ?? bytes.length);
    u64(at + 48, kind === PT_LOAD ? PAGE_BYTES : WORD_BYTES);
    file.set(bytes, offsets[i]);
  });
  return file;
}
