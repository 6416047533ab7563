import { FormatError } from "../../../../ground/bytes/errors.ts";
import { PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { ELF_MAGIC, ELFCLASS64, ELFDATA2LSB, EM_X86_64, PT_LOAD, PT_NOTE } from "../constants.ts";

export interface ImageSegment {
  /** PT_…, by default PT_LOAD. A segment of another type has no bytes of its own, but lies in a PT_LOAD segment. */
  type?: number;
  /** PF_… */
  flags: number;
  /** virtual address */
  address: number;
  bytes: Uint8Array;
  /** Bytes in memory, if more than in the file; the rest is 0. */
  memoryBytes?: number;
}

/** Named part of a segment, for debuggers. */
export interface ImageSection {
  name: string;
  /** SHT_…, by default SHT_PROGBITS */
  type?: number;
  /** SHF_… */
  flags: number;
  /** virtual address */
  address: number;
  length: number;
  link?: string;
  entryBytes?: number;
}

export interface ElfImage {
  /** ET_… */
  type: number;
  /** virtual address of the first instruction; 0 if none */
  entry: number;
  segments: readonly ImageSegment[];
  /** The dynamic linker does not need sections. */
  sections?: readonly ImageSection[];
}

export const PF_X = 1;
export const PF_W = 2;
export const PF_R = 4;

const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const WORD_BYTES = 8;
const NOTE_ALIGNMENT = 4;
const SECTION_HEADER_BYTES = 64;
const SECTION_NAMES = ".shstrtab";
const SHT_PROGBITS = 1;
export const SHT_STRTAB = 3;
export const SHT_DYNAMIC = 6;
export const SHT_DYNSYM = 11;
export const SHF_WRITE = 1;
export const SHF_ALLOC = 2;
export const SHF_EXECINSTR = 4;

/** Returns the first offset at which a segment may begin in the same page as the headers. */
export function headersEnd(segments: number): number {
  return HEADER_BYTES + PROGRAM_HEADER_BYTES * segments;
}

/**
 * Writes a little-endian ELF file for x86-64. Each segment has the same offset within its page in the file and in
 * memory. The section table comes last.
 */
export function writeElfImage({ type, entry, segments, sections = [] }: ElfImage): Uint8Array {
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
  const names = new TextEncoder().encode(sectionNames(sections).join("\0"));
  const namesAt = length;
  const sectionsAt = Math.ceil((namesAt + names.length) / WORD_BYTES) * WORD_BYTES;
  const sectionCount = sections.length === 0 ? 0 : sections.length + 2;
  if (sectionCount > 0) length = sectionsAt + SECTION_HEADER_BYTES * sectionCount;
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

  const placeOf = (address: number, bytes: number): number => {
    const enclosing = loads.find((load) => isInside(address, bytes, load));
    return enclosing === undefined ? 0 : (offsets.get(enclosing) as number) + address - enclosing.address;
  };
  const offsetOf = (segment: ImageSegment): number =>
    offsets.get(segment) ?? placeOf(segment.address, segment.bytes.length);
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
  if (sectionCount === 0) return file;

  u64(40, sectionsAt);
  view.setUint16(58, SECTION_HEADER_BYTES, true);
  view.setUint16(60, sectionCount, true);
  view.setUint16(62, sectionCount - 1, true);
  file.set(names, namesAt);
  let nameAt = 1;
  const header = (index: number, section: ImageSection, offset: number): void => {
    const at = sectionsAt + SECTION_HEADER_BYTES * index;
    view.setUint32(at, nameAt, true);
    nameAt += section.name.length + 1;
    view.setUint32(at + 4, section.type ?? SHT_PROGBITS, true);
    u64(at + 8, section.flags);
    u64(at + 16, section.address);
    u64(at + 24, offset);
    u64(at + 32, section.length);
    view.setUint32(at + 40, sections.findIndex(({ name }) => name === section.link) + 1, true);
    view.setUint32(at + 44, section.type === SHT_DYNSYM ? 1 : 0, true);
    u64(at + 48, section.type === undefined ? 1 : WORD_BYTES);
    u64(at + 56, section.entryBytes ?? 0);
  };
  sections.forEach((section, i) => {
    header(i + 1, section, placeOf(section.address, section.length));
  });
  const table = { name: SECTION_NAMES, type: SHT_STRTAB, flags: 0, address: 0, length: names.length };
  header(sectionCount - 1, table, namesAt);
  return file;
}

/** Entries of the table of section names: the first one is empty, and a zero follows the last. */
function sectionNames(sections: readonly ImageSection[]): string[] {
  return ["", ...sections.map(({ name }) => name), SECTION_NAMES, ""];
}

function isLoad({ type = PT_LOAD }: ImageSegment): boolean {
  return type === PT_LOAD;
}

function isInside(address: number, bytes: number, load: ImageSegment): boolean {
  return address >= load.address && address + bytes <= load.address + load.bytes.length;
}
