import { FormatError } from "../../../bytes/errors.ts";
import { ELF_MAGIC, ELFCLASS64, ELFDATA2LSB, EM_X86_64, PT_LOAD, PT_NOTE } from "../constants.ts";

/** A part of a file that is mapped, or that says what lies in one that is. */
export interface ImageSegment {
  /** PT_…; PT_LOAD without. All others have no bytes in the file but those of the PT_LOAD around them. */
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
export const PAGE_BYTES = 0x1000;
const WORD_BYTES = 8;
const NOTE_ALIGNMENT = 4;

/** Where the first segment may begin that lies in the same page as the headers. */
export function headersEnd(segments: number): number {
  return HEADER_BYTES + PROGRAM_HEADER_BYTES * segments;
}

/** A little-endian ELF file of x86-64 without sections. Each segment lies in the file as it lies in its page. */
export function writeElfImage({ type, entry, segments }: ElfImage): Uint8Array {
  const loads = segments.filter(isLoad);
  let length = headersEnd(segments.length);
  const offsets = new Map<ImageSegment, number>();
  for (const segment of loads) {
    const { address, bytes } = segment;
    if (!Number.isSafeInteger(address) || address < 0)
      throw new FormatError("malformed", 0, "segment", "its address is no address");
    length += (PAGE_BYTES + (address % PAGE_BYTES) - (length % PAGE_BYTES)) % PAGE_BYTES;
    offsets.set(segment, length);
    length += bytes.length;
  }
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

  const offsetOf = (segment: ImageSegment): number => {
    const around = isLoad(segment) ? segment : loads.find((load) => isInside(segment, load));
    return around === undefined ? 0 : (offsets.get(around) as number) + segment.address - around.address;
  };
  segments.forEach((segment, i) => {
    const { address, bytes } = segment;
    const at = HEADER_BYTES + PROGRAM_HEADER_BYTES * i;
    view.setUint32(at, segment.type ?? PT_LOAD, true);
    view.setUint32(at + 4, segment.flags, true);
    u64(at + 8, offsetOf(segment));
    u64(at + 16, address);
    u64(at + 24, address);
    u64(at + 32, bytes.length);
    u64(at + 40, segment.memoryBytes ?? bytes.length);
    u64(at + 48, isLoad(segment) ? PAGE_BYTES : segment.type === PT_NOTE ? NOTE_ALIGNMENT : WORD_BYTES);
    if (isLoad(segment)) file.set(bytes, offsetOf(segment));
  });
  return file;
}

function isLoad({ type = PT_LOAD }: ImageSegment): boolean {
  return type === PT_LOAD;
}

function isInside({ address, bytes }: ImageSegment, load: ImageSegment): boolean {
  return address >= load.address && address + bytes.length <= load.address + load.bytes.length;
}
