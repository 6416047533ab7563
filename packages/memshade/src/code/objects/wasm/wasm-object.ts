import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import { PiecewiseBytes } from "../../../ground/bytes/piecewise.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import { SectionId, sectionName } from "../../wasm/sections.ts";
import type { ObjectSymbol, SymbolTable } from "../symbol-table.ts";
import type { ObjectFile, ObjectSection } from "../types.ts";
import { type FunctionBody, findWasmSymbol, readWasmSymbols } from "./symbols.ts";

/** Bytes of the code section that are in memory at a time. */
const WINDOW_BYTES = 1 << 16;
const LONGEST_LEB = 5;
/** Shortest entry: its length and its content. */
const SHORTEST_ENTRY = 2;

class FunctionBodies {
  /** Start of the first entry, and the end of each. */
  readonly #first: number;
  readonly #ends: Uint32Array;
  readonly #damage: FormatError | undefined;

  constructor(first: number, ends: Uint32Array, damage: FormatError | undefined) {
    this.#first = first;
    this.#ends = ends;
    this.#damage = damage;
  }

  /**
   * Returns the entry around an offset.
   *
   * @throws FormatError if the entries before it could not be read
   */
  bodyAround(offset: number): FunctionBody | undefined {
    const ends = this.#ends;
    const index = partitionPoint(0, ends.length, (before) => ends[before] <= offset);
    if (index === ends.length && this.#damage !== undefined) throw this.#damage;
    const address = index === 0 ? this.#first : ends[index - 1];
    if (index === ends.length || offset < address) return undefined;
    return { index, address, size: ends[index] - address };
  }

  /**
   * Visits all entries.
   *
   * @throws FormatError after the readable entries, if others should follow
   */
  visit(visit: (index: number, start: number, size: number) => void): void {
    let start = this.#first;
    for (let index = 0; index < this.#ends.length; index++) {
      const end = this.#ends[index];
      visit(index, start, end - start);
      start = end;
    }
    if (this.#damage !== undefined) throw this.#damage;
  }
}

/**
 * Reads the lengths of a code section's entries, and little more of it.
 *
 * @param last offset of interest; entries after the one around it are not read
 */
function readFunctionBodies(
  source: ByteSource,
  code: ObjectSection,
  last = Number.POSITIVE_INFINITY,
): FunctionBodies {
  const lengths = new Lengths(source, code);
  let ends = new Uint32Array(0);
  let first = 0;
  let index = 0;
  try {
    const count = lengths.next(0);
    first = lengths.position;
    ends = new Uint32Array(Math.min(count, Math.ceil(code.size / SHORTEST_ENTRY)));
    for (let at = first; index < count && at <= last; index++) {
      const size = lengths.next(at);
      const end = lengths.position + size;
      if (end > code.size) throw new FormatError("truncated", at, "code section", `${size} bytes do not fit`);
      ends[index] = end;
      at = end;
    }
    return new FunctionBodies(first, ends.subarray(0, index), undefined);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return new FunctionBodies(first, ends.subarray(0, index), error);
  }
}

/** Reader of LEB128 numbers in the code section, with a window that moves forward. */
class Lengths {
  position = 0;
  readonly #source: ByteSource;
  readonly #code: ObjectSection;
  readonly #buffer: Uint8Array;
  #bytes: Uint8Array = new Uint8Array(0);
  #base = 0;

  constructor(source: ByteSource, code: ObjectSection) {
    this.#source = source;
    this.#code = code;
    this.#buffer = new Uint8Array(source.readInto === undefined ? 0 : Math.min(WINDOW_BYTES, code.size));
  }

  next(at: number): number {
    let inWindow = at - this.#base;
    if (inWindow + LONGEST_LEB > this.#bytes.length) {
      this.#bytes = this.#read(at);
      this.#base = at;
      inWindow = 0;
    }
    const bytes = this.#bytes;
    const byte = bytes[inWindow];
    if (byte < 0x80) {
      this.position = at + 1;
      return byte;
    }
    const second = bytes[inWindow + 1];
    if (second < 0x80) {
      this.position = at + 2;
      return (byte & 0x7f) | (second << 7);
    }
    this.position = this.#base + skipLeb32(bytes, inWindow);
    return readU32Leb(bytes, inWindow);
  }

  #read(at: number): Uint8Array {
    const { offset, size } = this.#code;
    const length = Math.min(WINDOW_BYTES, size - at);
    return this.#source.readInto === undefined
      ? this.#source.read(offset + at, length)
      : this.#source.readInto(offset + at, this.#buffer.subarray(0, length));
  }
}

const WASM_MAGIC = [0x00, 0x61, 0x73, 0x6d];
const HEADER_BYTES = 8;
const CORE_MODULE_VERSION = 1;

export function isWasm(source: ByteSource): boolean {
  const start = source.read(0, 4);
  return start.length === 4 && WASM_MAGIC.every((byte, index) => start[index] === byte);
}

/**
 * Wasm module. Its sections are found when it is opened, and their content is read on demand. A module of which a
 * tool kept only the custom sections can therefore be read too.
 */
export class WasmObject implements ObjectFile {
  readonly kind = "wasm";
  readonly architecture = "wasm32";
  readonly type = "executable";
  readonly addressSize = 4;
  readonly size: number;
  readonly sections: readonly ObjectSection[];
  readonly programHeaders = [];
  readonly segments = [];
  readonly debugLink = undefined;
  readonly debugAltLink = undefined;
  readonly miniDebugInfo = undefined;
  readonly problems: FormatError[] = [];

  readonly #source: ByteSource;
  readonly #contents = new Map<number, Uint8Array>();
  readonly #pieces = new Map<number, PiecewiseBytes>();
  #symbols: SymbolTable | undefined;
  /** Exported functions, as long as no others were requested. */
  #globalSymbols: SymbolTable | undefined;
  #bodies: FunctionBodies | undefined;
  #lookups = 0;

  constructor(source: ByteSource) {
    this.#source = source;
    this.size = source.size;
    checkHeader(source.read(0, HEADER_BYTES));
    this.sections = this.#findSections();
  }

  #findSections(): ObjectSection[] {
    const sections: ObjectSection[] = [];
    try {
      for (let at = HEADER_BYTES; at < this.size; ) {
        const section = readSection(this.#source, at);
        sections.push(section.section);
        at = section.end;
      }
    } catch (error) {
      this.problems.push(error as FormatError);
    }
    return sections;
  }

  section(name: string): Uint8Array | undefined {
    const section = this.#named(name);
    return section && this.contentOf(section);
  }

  sectionInPieces(name: string): PiecewiseBytes | undefined {
    const section = this.#named(name);
    if (section === undefined || this.#contents.has(section.offset)) return undefined;
    return entryOf(
      this.#pieces,
      section.offset,
      () => new PiecewiseBytes(this.#source, section.offset, section.size),
    );
  }

  #named(name: string): ObjectSection | undefined {
    const named = this.sections.filter((section) => section.name === name);
    return named.find(({ type }) => type === SectionId.Custom) ?? named[0];
  }

  contentOf({ offset, size }: ObjectSection): Uint8Array {
    return entryOf(
      this.#contents,
      offset,
      () => this.#pieces.get(offset)?.loadAll() ?? this.#source.read(offset, size),
    );
  }

  bytesAt(address: number, length: number): Uint8Array {
    const code = this.#code;
    if (code === undefined || address < 0 || address >= code.size) return new Uint8Array(0);
    return this.contentOf(code).subarray(address, address + length);
  }

  symbols(): SymbolTable {
    this.#symbols ??= this.#readSymbols(this.#nameSection());
    return this.#symbols;
  }

  functionAt(address: number): { address: number; size: number } | undefined {
    try {
      return this.#bodyAround(address);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      return undefined;
    }
  }

  symbolAt(address: number, onlyGlobal = false): ObjectSymbol | undefined {
    if (this.#symbols === undefined && this.#lookups++ < FEW_LOOKUPS)
      try {
        const names = onlyGlobal ? undefined : this.#nameSection();
        const body = this.#bodyAround(address);
        return body && findWasmSymbol(body, (id) => this.#standard(id), names);
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    if (!onlyGlobal || this.#symbols !== undefined) return this.symbols().find(address);
    this.#globalSymbols ??= this.#readSymbols(undefined);
    return this.#globalSymbols.find(address);
  }

  #readSymbols(names: Uint8Array | undefined): SymbolTable {
    return readWasmSymbols(
      (id) => this.#standard(id),
      (visit) => this.#code && this.#allBodies(this.#code).visit(visit),
      names,
      this.problems,
    );
  }

  /**
   * Returns the entry of the code section around an offset. The first lookup reads no further entries, since
   * many callers look up only one.
   */
  #bodyAround(address: number): FunctionBody | undefined {
    const code = this.#code;
    if (code === undefined) return undefined;
    const bodies =
      this.#lookups === 1 ? readFunctionBodies(this.#source, code, address) : this.#allBodies(code);
    return bodies.bodyAround(address);
  }

  #allBodies(code: ObjectSection): FunctionBodies {
    this.#bodies ??= readFunctionBodies(this.#source, code);
    return this.#bodies;
  }

  #standard(id: number): Uint8Array | undefined {
    const section = this.sections.find(({ type }) => type === id);
    return section && this.contentOf(section);
  }

  #nameSection(): Uint8Array | undefined {
    const section = this.sections.find((each) => each.type === SectionId.Custom && each.name === "name");
    return section && this.contentOf(section);
  }

  get buildId(): string | undefined {
    const content = this.#prefixed("build_id");
    if (content === undefined || content.length === 0) return undefined;
    return Array.from(content, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  get externalDebugInfo(): string | undefined {
    return this.#text("external_debug_info");
  }

  get sourceMappingUrl(): string | undefined {
    return this.#text("sourceMappingURL");
  }

  get codeOffset(): number | undefined {
    return this.#code?.offset;
  }

  get #code(): ObjectSection | undefined {
    return this.sections.find(({ type }) => type === SectionId.Code);
  }

  #prefixed(name: string): Uint8Array | undefined {
    const content = this.section(name);
    if (content === undefined) return undefined;
    try {
      const reader = new ByteReader(content);
      return reader.view(reader.u32Leb());
    } catch (error) {
      this.problems.push(error as FormatError);
      return undefined;
    }
  }

  #text(name: string): string | undefined {
    const content = this.#prefixed(name);
    return content && new TextDecoder().decode(content);
  }
}

function checkHeader(bytes: Uint8Array): void {
  if (bytes.length < HEADER_BYTES) throw new FormatError("truncated", 0, "wasm header");
  const version = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  if (version !== CORE_MODULE_VERSION) {
    const detail =
      version === 0x1000d
        ? "components are not supported, only core modules"
        : `version ${version} is not supported`;
    throw new FormatError("unsupported-version", 4, "wasm header", detail);
  }
}

/** Number of lookups that search the symbols; from the next one on, a table is built. */
const FEW_LOOKUPS = 20;

/** Bytes read at a section's start: its header and the name of most custom sections. */
const LOOK_BYTES = 128;

function readSection(source: ByteSource, at: number): { section: ObjectSection; end: number } {
  const reader = new ByteReader(source.read(at, LOOK_BYTES));
  const type = reader.u8("section");
  const size = reader.u32Leb();
  const start = at + reader.position;
  const end = start + size;
  if (end > source.size)
    throw new FormatError("truncated", at, `${sectionName(type)} section`, `${size} bytes do not fit`);
  if (type !== SectionId.Custom)
    return { section: { name: sectionName(type), address: 0, size, offset: start, flags: 0, type }, end };
  const nameSize = reader.u32Leb();
  const nameStart = at + reader.position;
  const offset = nameStart + nameSize;
  if (offset > end) throw new FormatError("truncated", at, "custom section name");
  const name = new TextDecoder().decode(source.read(nameStart, nameSize));
  return { section: { name, address: 0, size: end - offset, offset, flags: 0, type }, end };
}
