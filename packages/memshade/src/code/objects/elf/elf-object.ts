import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64, hexOf, viewOf } from "../../../ground/bytes/numbers.ts";
import { PiecewiseBytes } from "../../../ground/bytes/piecewise.ts";
import { type ObjectSymbol, SymbolTable } from "../symbol-table.ts";
import type {
  Architecture,
  DebugAltLink,
  DebugLink,
  Decompressors,
  ObjectFile,
  ObjectSection,
  ObjectSegment,
} from "../types.ts";
import * as elf from "./constants.ts";
import {
  type ElfHeader,
  type ElfSectionHeader,
  readElfHeader,
  readProgramHeaders,
  readSectionHeaders,
} from "./header.ts";
import { readNotes } from "./notes.ts";
import { canRelocate, type Relocated, relocate } from "./relocations.ts";
import { type ElfSymbolSections, findElfSymbol, readElfSymbols, readString } from "./symbols.ts";

/** Number of lookups that search the symbols; from the next one on, a table is used. */
const FEW_LOOKUPS = 3;

/** ELF file. Headers are read when it is opened, everything else on demand, each section once. */
export class ElfObject implements ObjectFile {
  readonly kind = "elf";
  readonly architecture: Architecture;
  readonly type: ObjectFile["type"];
  readonly addressSize: 4 | 8;
  readonly size: number;
  readonly sections: readonly ObjectSection[];
  readonly programHeaders: readonly ObjectSegment[];
  readonly segments: readonly ObjectSegment[];
  readonly problems: FormatError[] = [];
  readonly externalDebugInfo = undefined;
  readonly sourceMappingUrl = undefined;
  readonly codeOffset = undefined;

  readonly #source: ByteSource;
  readonly #header: ElfHeader;
  readonly #sectionHeaders: readonly ElfSectionHeader[];
  readonly #decompressors: Decompressors;
  readonly #contents = new Map<ObjectSection, Uint8Array | undefined>();
  readonly #pieces = new Map<ObjectSection, PiecewiseBytes>();
  #symbols: SymbolTable | undefined;
  #lookups = 0;
  #buildId: string | null | undefined;
  #relocated: RelocatedSections | undefined;

  /** @throws FormatError if the file header is not one of a supported ELF file */
  constructor(source: ByteSource, decompressors: Decompressors) {
    this.#source = source;
    this.#decompressors = decompressors;
    this.#header = readElfHeader(source);
    this.architecture = this.#header.architecture;
    this.type = this.#header.type;
    this.addressSize = this.#header.is64 ? 8 : 4;
    this.size = source.size;
    this.#sectionHeaders = readSectionHeaders(source, this.#header);
    this.programHeaders = readProgramHeaders(source, this.#header);
    this.segments = this.programHeaders.filter(({ type }) => type === elf.PT_LOAD);
    this.#checkTable("section header table", this.#header.sectionHeaders, this.#sectionHeaders.length);
    this.#checkTable("program header table", this.#header.programHeaders, this.programHeaders.length);
    this.sections = this.#describeSections();
    if (this.type === "relocatable" && this.#needsUnknownRelocations()) {
      const detail = `relocations of machine ${this.#header.machine} are not known, and its debug information cannot be read`;
      this.problems.push(new FormatError("unsupported", 18, "ELF header", detail));
    }
  }

  /** Files with split debug information are relocatable, but have no relocations. */
  #needsUnknownRelocations(): boolean {
    const hasAny = this.#sectionHeaders.some(({ type }) => type === elf.SHT_REL || type === elf.SHT_RELA);
    return hasAny && !canRelocate(this.#header.machine);
  }

  #checkTable(construct: string, { offset, count }: ElfHeader["sectionHeaders"], present: number): void {
    if (offset === 0 || present === count) return;
    const detail = `${count} entries are announced, ${present} are there`;
    this.problems.push(new FormatError("truncated", offset, construct, detail));
  }

  #describeSections(): ObjectSection[] {
    const names = this.#sectionHeaders[this.#header.sectionNames];
    const strings = names === undefined ? new Uint8Array(0) : this.#read(names.offset, names.size);
    return this.#sectionHeaders.map((header) => {
      const { type, flags, address, offset, size } = header;
      const name = readString(strings, header.nameOffset);
      const compression = this.#compressionHeader(name, header)?.method;
      return { name, type, flags, address, offset, size, ...(compression && { compression }) };
    });
  }

  #compressionHeader(
    name: string,
    { type, flags, offset, size }: Pick<ObjectSection, "type" | "flags" | "offset" | "size">,
  ): CompressionHeader | undefined {
    if (type === elf.SHT_NOBITS) return undefined;
    const start = () => this.#read(offset, Math.min(size, 24));
    if (elf.hasFlag(flags, elf.SHF_COMPRESSED)) return readCompressionHeader(start(), this.#header.is64);
    return name.startsWith(".zdebug_") ? readOldCompressionHeader(start()) : undefined;
  }

  #read(offset: number, size: number): Uint8Array {
    return offset >= this.#source.size ? new Uint8Array(0) : this.#source.read(offset, size);
  }

  section(name: string): Uint8Array | undefined {
    if (this.type === "relocatable" && name.startsWith(".debug_"))
      return this.#relocatedSection(name)?.content;
    const section = this.#named(name);
    return section && this.contentOf(section);
  }

  /** Returns the first section of that name with content; for `.debug_*` also the old compressed one. */
  #named(name: string): ObjectSection | undefined {
    const old = name.startsWith(".debug_") ? `.z${name.slice(1)}` : name;
    for (const wanted of [name, old]) {
      const section = this.sections.find(
        (candidate) => candidate.name === wanted && candidate.type !== elf.SHT_NOBITS,
      );
      if (section !== undefined) return section;
    }
    return undefined;
  }

  sectionInPieces(name: string): PiecewiseBytes | undefined {
    const section = this.type === "relocatable" ? undefined : this.#named(name);
    if (section === undefined || this.#contents.has(section)) return undefined;
    const isWhole = section.offset + section.size <= this.#source.size;
    if (!isWhole || section.compression !== undefined || elf.hasFlag(section.flags, elf.SHF_COMPRESSED))
      return undefined;
    return entryOf(
      this.#pieces,
      section,
      () => new PiecewiseBytes(this.#source, section.offset, section.size),
    );
  }

  #relocatedSection(name: string): Relocated | undefined {
    if (this.#needsUnknownRelocations()) return undefined;
    this.#relocated ??= new RelocatedSections(
      {
        sections: this.sections,
        headers: this.#sectionHeaders,
        is64: this.#header.is64,
        machine: this.#header.machine,
      },
      (section) => this.contentOf(section),
    );
    return this.#relocated.section(name);
  }

  targetSection(name: string, offset: number): number | undefined {
    return this.type === "relocatable" ? this.#relocatedSection(name)?.targets.get(offset) : undefined;
  }

  codeSectionAt(address: number): number | undefined {
    if (this.type !== "relocatable") return undefined;
    const found = this.sections.findIndex(
      ({ flags, type, size }) =>
        elf.hasFlag(flags, elf.SHF_EXECINSTR) && type !== elf.SHT_NOBITS && address >= 0 && address < size,
    );
    return found < 0 ? undefined : found;
  }

  contentOf(section: ObjectSection): Uint8Array | undefined {
    if (this.#contents.has(section)) return this.#contents.get(section);
    const content = this.#pieces.get(section)?.loadAll() ?? this.#readContent(section);
    this.#contents.set(section, content);
    return content;
  }

  #readContent(section: ObjectSection): Uint8Array | undefined {
    if (section.type === elf.SHT_NOBITS) return undefined;
    const stored = this.#read(section.offset, section.size);
    if (stored.length < section.size) {
      const detail = `${section.size} bytes are announced, ${stored.length} are there`;
      this.problems.push(new FormatError("truncated", section.offset, `section ${section.name}`, detail));
      if (stored.length === 0) return undefined;
    }
    const header = this.#compressionHeader(section.name, section);
    if (header === undefined) return elf.hasFlag(section.flags, elf.SHF_COMPRESSED) ? undefined : stored;
    try {
      return decompressSection(stored, header, section.offset, this.#decompressors);
    } catch (error) {
      this.problems.push(error as FormatError);
      return undefined;
    }
  }

  bytesAt(address: number, length: number): Uint8Array {
    for (const segment of this.segments) {
      const into = address - segment.address;
      if (into < 0 || into >= segment.fileSize) continue;
      return this.#read(segment.fileOffset + into, Math.min(length, segment.fileSize - into));
    }
    return new Uint8Array(0);
  }

  symbols(): SymbolTable {
    this.#symbols ??= this.#readSymbols();
    return this.#symbols;
  }

  symbolAt(address: number): ObjectSymbol | undefined {
    if (this.#symbols === undefined && this.#lookups++ < FEW_LOOKUPS) {
      const sections = this.#symbolSections();
      return sections && findElfSymbol(sections, address);
    }
    return this.symbols().find(address);
  }

  #readSymbols(): SymbolTable {
    const sections = this.#symbolSections();
    return sections === undefined ? SymbolTable.EMPTY : readElfSymbols(sections);
  }

  #symbolSections(): ElfSymbolSections | undefined {
    for (const type of [elf.SHT_SYMTAB, elf.SHT_DYNSYM]) {
      const index = this.sections.findIndex((section) => section.type === type);
      const symbols = index < 0 ? undefined : this.contentOf(this.sections[index]);
      const linked = index < 0 ? undefined : this.sections[this.#sectionHeaders[index].link];
      const strings = linked === undefined ? undefined : this.contentOf(linked);
      if (symbols === undefined || strings === undefined) continue;
      return {
        symbols,
        strings,
        is64: this.#header.is64,
        machine: this.#header.machine,
        sections: this.#sectionHeaders,
      };
    }
    return undefined;
  }

  get buildId(): string | undefined {
    this.#buildId ??= this.#findBuildId() ?? null;
    return this.#buildId ?? undefined;
  }

  #findBuildId(): string | undefined {
    const places = [
      ...this.programHeaders
        .filter(({ type }) => type === elf.PT_NOTE)
        .map(({ fileOffset, fileSize }) => ({ offset: fileOffset, size: fileSize })),
      ...this.sections.filter(({ type }) => type === elf.SHT_NOTE),
    ];
    for (const { offset, size } of places)
      for (const { owner, type, content } of readNotes(this.#read(offset, size)))
        if (owner === "GNU" && type === elf.NT_GNU_BUILD_ID && content.length > 0) return hexOf(content);
    return undefined;
  }

  get debugLink(): DebugLink | undefined {
    const content = this.section(".gnu_debuglink");
    const name = content && readString(content, 0);
    if (!content || !name) return undefined;
    // The CRC is at the next multiple of four after the closing NUL.
    const at = Math.ceil((content.indexOf(0) + 1) / 4) * 4;
    return at + 4 > content.length ? undefined : { name, crc32: viewOf(content).getUint32(at, true) };
  }

  get debugAltLink(): DebugAltLink | undefined {
    const content = this.section(".gnu_debugaltlink");
    const end = content?.indexOf(0) ?? -1;
    if (!content || end <= 0) return undefined;
    return { name: readString(content, 0), buildId: hexOf(content.subarray(end + 1)) };
  }

  get miniDebugInfo(): Uint8Array | undefined {
    return this.section(".gnu_debugdata");
  }
}

/** Tables of a relocatable object. Both lists are in the order of the section header table. */
interface RelocatableTables {
  readonly sections: readonly ObjectSection[];
  readonly headers: readonly ElfSectionHeader[];
  readonly is64: boolean;
  readonly machine: number;
}

/**
 * Debug sections of a relocatable object, with relocations applied. Sections with the same name, which compilers
 * create for types shared by several objects, are joined.
 */
class RelocatedSections {
  readonly #tables: RelocatableTables;
  readonly #contentOf: (section: ObjectSection) => Uint8Array | undefined;
  readonly #relocations = new Map<number, number>();
  readonly #joined = new Map<string, Relocated | undefined>();
  #bases: ReadonlyMap<number, number> | undefined;

  constructor(tables: RelocatableTables, contentOf: (section: ObjectSection) => Uint8Array | undefined) {
    this.#tables = tables;
    this.#contentOf = contentOf;
    tables.headers.forEach(({ type, info }, index) => {
      if (type === elf.SHT_RELA || type === elf.SHT_REL) this.#relocations.set(info, index);
    });
  }

  section(name: string): Relocated | undefined {
    if (!this.#joined.has(name)) this.#joined.set(name, this.#join(name));
    return this.#joined.get(name);
  }

  #join(name: string): Relocated | undefined {
    const parts = this.#indicesOf(name).flatMap((index) => this.#relocatedPart(index) ?? []);
    if (parts.length < 2) return parts[0];
    const content = new Uint8Array(parts.reduce((sum, part) => sum + part.content.length, 0));
    const targets = new Map<number, number>();
    let base = 0;
    for (const part of parts) {
      content.set(part.content, base);
      for (const [offset, target] of part.targets) targets.set(base + offset, target);
      base += part.content.length;
    }
    return { content, targets };
  }

  #indicesOf(name: string): number[] {
    const { sections } = this.#tables;
    const old = `.z${name.slice(1)}`;
    return [...sections.keys()].filter((index) => {
      const section = sections[index];
      return (section.name === name || section.name === old) && section.type !== elf.SHT_NOBITS;
    });
  }

  #relocatedPart(index: number): Relocated | undefined {
    const { sections, headers, is64, machine } = this.#tables;
    const content = this.#contentOf(sections[index]);
    if (content === undefined) return undefined;
    const at = this.#relocations.get(index);
    const entries = at === undefined ? undefined : this.#contentOf(sections[at]);
    const symbolSection = at === undefined ? undefined : sections[headers[at].link];
    const symbols = symbolSection && this.#contentOf(symbolSection);
    if (at === undefined || entries === undefined || symbols === undefined)
      return { content, targets: new Map() };
    const hasAddends = headers[at].type === elf.SHT_RELA;
    return relocate(content, {
      entries,
      hasAddends,
      symbols,
      is64,
      machine,
      baseOf: (section) => this.#baseOf(section),
    });
  }

  #baseOf(index: number): number {
    this.#bases ??= this.#findBases();
    return this.#bases.get(index) ?? 0;
  }

  #findBases(): Map<number, number> {
    const ends = new Map<string, number>();
    const bases = new Map<number, number>();
    this.#tables.sections.forEach((section, index) => {
      if (!section.name.startsWith(".debug_") || section.type === elf.SHT_NOBITS) return;
      const base = ends.get(section.name) ?? 0;
      if (base > 0) bases.set(index, base);
      ends.set(section.name, base + (this.#contentOf(section)?.length ?? 0));
    });
    return bases;
  }
}

interface CompressionHeader {
  readonly method: "zlib" | "zstd";
  readonly size: number;
  readonly start: number;
}

/** Largest number of bytes per compressed byte: for deflate by its format, for zstd by its shortest block. */
const LARGEST_RATIO = { zlib: 1040, zstd: 2 ** 17 };

/**
 * Returns the header of a section with `elf.SHF_COMPRESSED` (`Elf32_Chdr`, `Elf64_Chdr`); undefined for an
 * unknown method.
 */
function readCompressionHeader(section: Uint8Array, is64: boolean): CompressionHeader | undefined {
  const start = is64 ? 24 : 12;
  if (section.length < start) return undefined;
  const view = viewOf(section);
  const type = view.getUint32(0, true);
  const method = type === elf.ELFCOMPRESS_ZLIB ? "zlib" : type === elf.ELFCOMPRESS_ZSTD ? "zstd" : undefined;
  if (method === undefined) return undefined;
  return { method, size: is64 ? getU64(view, 8) : view.getUint32(4, true), start };
}

/** Returns the header of an old `.zdebug_*` section: "ZLIB" and the size as a big-endian 64-bit number. */
function readOldCompressionHeader(section: Uint8Array): CompressionHeader | undefined {
  if (section.length < 12) return undefined;
  const view = viewOf(section);
  if (view.getUint32(0) !== 0x5a4c4942) return undefined;
  return { method: "zlib", size: view.getUint32(4) * 2 ** 32 + view.getUint32(8), start: 12 };
}

/**
 * Decompresses a section's content; undefined without a decompressor for its method.
 *
 * @throws FormatError if the bytes are damaged or claim an impossible size
 */
function decompressSection(
  section: Uint8Array,
  header: CompressionHeader,
  fileOffset: number,
  { inflate, zstd }: Decompressors,
): Uint8Array | undefined {
  const decompress = header.method === "zlib" ? inflate : zstd;
  if (decompress === undefined) return undefined;
  const compressed = section.subarray(header.start);
  const malformed = (detail: string) =>
    new FormatError("malformed", fileOffset, "compressed section", detail);
  if (header.size > compressed.length * LARGEST_RATIO[header.method])
    throw malformed(`${compressed.length} bytes cannot become ${header.size}`);
  let content: Uint8Array;
  try {
    content = decompress(compressed, header.size);
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
  if (content.length !== header.size)
    throw malformed(`${content.length} bytes came out, ${header.size} were announced`);
  return content;
}
