import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import type { Architecture, ObjectFile, ObjectSegment } from "../types.ts";
import * as elf from "./constants.ts";

/** Tables of an ELF file. Counts that overflow their 16 bits are resolved. */
export interface ElfHeader {
  readonly is64: boolean;
  readonly architecture: Architecture;
  readonly machine: number;
  readonly type: ObjectFile["type"];
  readonly entry: number;
  readonly programHeaders: ElfTable;
  readonly sectionHeaders: ElfTable;
  readonly sectionNames: number;
}

export interface ElfTable {
  readonly offset: number;
  readonly entrySize: number;
  readonly count: number;
}

export interface ElfSectionHeader {
  readonly nameOffset: number;
  readonly type: number;
  readonly flags: number;
  readonly address: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
  readonly info: number;
}

const ARCHITECTURES: ReadonlyMap<number, Architecture> = new Map([
  [elf.EM_386, "i386"],
  [elf.EM_X86_64, "x86_64"],
  [elf.EM_AARCH64, "aarch64"],
]);

const TYPES: ReadonlyMap<number, ObjectFile["type"]> = new Map([
  [elf.ET_REL, "relocatable"],
  [elf.ET_EXEC, "executable"],
  [elf.ET_DYN, "shared"],
  [elf.ET_CORE, "core"],
]);

export function isElf(source: ByteSource): boolean {
  const start = source.read(0, 4);
  return start.length === 4 && viewOf(start).getUint32(0, true) === elf.ELF_MAGIC;
}

export function readElfHeader(source: ByteSource): ElfHeader {
  const bytes = source.read(0, 64);
  if (!isElf(source)) throw new FormatError("bad-magic", 0, "ELF header", "the file is not an ELF object");
  const elfClass = bytes[4];
  const is64 = elfClass === elf.ELFCLASS64;
  if (bytes.length < (is64 ? 64 : 52)) throw new FormatError("truncated", 0, "ELF header");
  if (!is64 && elfClass !== elf.ELFCLASS32)
    throw new FormatError("unsupported", 4, "ELF header", `there is no ELF class ${elfClass}`);
  if (bytes[5] !== elf.ELFDATA2LSB)
    throw new FormatError("unsupported", 5, "ELF header", "only little-endian objects can be read");
  const view = viewOf(bytes);
  const machine = view.getUint16(18, true);
  const fileType = view.getUint16(16, true);
  const type = TYPES.get(fileType);
  if (type === undefined)
    throw new FormatError("unsupported", 16, "ELF header", `file type ${fileType} is not supported`);
  const word = (at64: number, at32: number) => (is64 ? getU64(view, at64) : view.getUint32(at32, true));
  const half = (at64: number, at32: number) => view.getUint16(is64 ? at64 : at32, true);
  return withOverflowedCounts(source, {
    is64,
    architecture: ARCHITECTURES.get(machine) ?? "other",
    machine,
    type,
    entry: word(24, 24),
    programHeaders: { offset: word(32, 28), entrySize: half(54, 42), count: half(56, 44) },
    sectionHeaders: { offset: word(40, 32), entrySize: half(58, 46), count: half(60, 48) },
    sectionNames: half(62, 50),
  });
}

/** Reads counts above 16 bits from the otherwise unused section 0. */
function withOverflowedCounts(source: ByteSource, header: ElfHeader): ElfHeader {
  const { programHeaders, sectionHeaders, sectionNames } = header;
  const sectionsOverflow = sectionHeaders.count === 0 && sectionHeaders.offset !== 0;
  if (!sectionsOverflow && programHeaders.count !== elf.PN_XNUM && sectionNames !== elf.SHN_XINDEX)
    return header;
  const [first] = readSectionHeaders(source, { ...header, sectionHeaders: { ...sectionHeaders, count: 1 } });
  if (first === undefined) return header;
  return {
    ...header,
    programHeaders:
      programHeaders.count === elf.PN_XNUM ? { ...programHeaders, count: first.info } : programHeaders,
    sectionHeaders: sectionsOverflow ? { ...sectionHeaders, count: first.size } : sectionHeaders,
    sectionNames: sectionNames === elf.SHN_XINDEX ? first.link : sectionNames,
  };
}

export function readSectionHeaders(
  source: ByteSource,
  { is64, sectionHeaders }: ElfHeader,
): ElfSectionHeader[] {
  return readTable(source, sectionHeaders, is64 ? 64 : 40, (view, at) => {
    const word = (at64: number, at32: number) =>
      is64 ? getU64(view, at + at64) : view.getUint32(at + at32, true);
    return {
      nameOffset: view.getUint32(at, true),
      type: view.getUint32(at + 4, true),
      flags: word(8, 8),
      address: word(16, 12),
      offset: word(24, 16),
      size: word(32, 20),
      link: view.getUint32(at + (is64 ? 40 : 24), true),
      info: view.getUint32(at + (is64 ? 44 : 28), true),
    };
  });
}

export function readProgramHeaders(source: ByteSource, { is64, programHeaders }: ElfHeader): ObjectSegment[] {
  return readTable(source, programHeaders, is64 ? 56 : 32, (view, at) => {
    const word = (at64: number, at32: number) =>
      is64 ? getU64(view, at + at64) : view.getUint32(at + at32, true);
    return {
      type: view.getUint32(at, true),
      flags: view.getUint32(at + (is64 ? 4 : 24), true),
      fileOffset: word(8, 4),
      address: word(16, 8),
      fileSize: word(32, 16),
      memorySize: word(40, 20),
    };
  });
}

function readTable<T>(
  source: ByteSource,
  { offset, entrySize, count }: ElfTable,
  minimumEntrySize: number,
  readEntry: (view: DataView, at: number) => T,
): T[] {
  if (offset === 0 || entrySize < minimumEntrySize || offset >= source.size) return [];
  const wanted = Math.min(count, Math.floor((source.size - offset) / entrySize));
  const bytes = source.read(offset, wanted * entrySize);
  const view = viewOf(bytes);
  // A source may have fewer bytes than its size, such as the first page of a file in a dump.
  const present = Math.floor(bytes.length / entrySize);
  return Array.from({ length: present }, (_, index) => readEntry(view, index * entrySize));
}
