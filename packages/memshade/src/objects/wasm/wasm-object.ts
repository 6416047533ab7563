import type { ByteSource } from "../../bytes/byte-source.ts";
import { FormatError } from "../../bytes/errors.ts";
import { ByteReader } from "../../bytes/reader.ts";
import { SectionId, sectionName } from "../../wasm/sections.ts";
import type { SymbolTable } from "../symbol-table.ts";
import type { ObjectFile, ObjectSection } from "../types.ts";
import { readWasmSymbols } from "./symbols.ts";

const WASM_MAGIC = [0x00, 0x61, 0x73, 0x6d];
const HEADER_BYTES = 8;
const CORE_MODULE_VERSION = 1;

export function isWasm(source: ByteSource): boolean {
  const start = source.read(0, 4);
  return start.length === 4 && WASM_MAGIC.every((byte, index) => start[index] === byte);
}

/**
 * A wasm module. Sections are found when it is opened; what is inside of them matters only when asked for, so that
 * modules of which a tool left nothing but the custom sections can be read too.
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
  #symbols: SymbolTable | undefined;

  /** @throws FormatError if it is not a core module of version 1 */
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
    const named = this.sections.filter((section) => section.name === name);
    const section = named.find(({ type }) => type === SectionId.Custom) ?? named[0];
    return section && this.contentOf(section);
  }

  contentOf({ offset, size }: ObjectSection): Uint8Array {
    let content = this.#contents.get(offset);
    if (content === undefined) {
      content = this.#source.read(offset, size);
      this.#contents.set(offset, content);
    }
    return content;
  }

  bytesAt(address: number, length: number): Uint8Array {
    const code = this.#code;
    if (code === undefined || address < 0 || address >= code.size) return new Uint8Array(0);
    return this.contentOf(code).subarray(address, address + length);
  }

  symbols(): SymbolTable {
    this.#symbols ??= readWasmSymbols(
      (id) => this.#standard(id),
      (visit) => this.#visitBodies(visit),
      this.#custom("name"),
      this.problems,
    );
    return this.#symbols;
  }

  /** Goes over the entries of the code section, by their offsets in it, and reads little but their lengths. */
  #visitBodies(visit: (index: number, start: number, size: number) => void): void {
    const code = this.#code;
    if (code === undefined) return;
    let window = new ByteReader(new Uint8Array(0));
    let base = 0;
    const readerAt = (at: number): ByteReader => {
      if (at - base + LONGEST_LEB > window.bytes.length) {
        base = at;
        window = new ByteReader(this.#source.read(code.offset + at, Math.min(WINDOW_BYTES, code.size - at)));
      } else window = new ByteReader(window.bytes, at - base);
      return window;
    };
    const head = readerAt(0);
    const count = head.u32Leb();
    let at = head.position;
    for (let index = 0; index < count; index++) {
      const reader = readerAt(at);
      const size = reader.u32Leb();
      const end = base + reader.position + size;
      if (end > code.size) throw new FormatError("truncated", at, "code section", `${size} bytes do not fit`);
      visit(index, at, end - at);
      at = end;
    }
  }

  #standard(id: number): Uint8Array | undefined {
    const section = this.sections.find(({ type }) => type === id);
    return section && this.contentOf(section);
  }

  #custom(name: string): Uint8Array | undefined {
    const section = this.sections.find((each) => each.type === SectionId.Custom && each.name === name);
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

  /** Content of a custom section that is nothing but a byte string with its length. */
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

/** Bytes of the code section that are in memory at a time. */
const WINDOW_BYTES = 1 << 16;
const LONGEST_LEB = 5;

/** Bytes in front of a section's content, with the name of most custom sections. */
const LOOK_BYTES = 128;

/** The section that starts at an offset of the file, of which little more than the header is read. */
function readSection(source: ByteSource, at: number): { section: ObjectSection; end: number } {
  const reader = new ByteReader(source.read(at, LOOK_BYTES));
  const type = reader.u8("section");
  const size = reader.u32Leb();
  const start = at + reader.position;
  const end = start + size;
  if (end > source.size) {
    throw new FormatError("truncated", at, `${sectionName(type)} section`, `${size} bytes do not fit`);
  }
  if (type !== SectionId.Custom) {
    return { section: { name: sectionName(type), address: 0, size, offset: start, flags: 0, type }, end };
  }
  const nameSize = reader.u32Leb();
  const nameStart = at + reader.position;
  const offset = nameStart + nameSize;
  if (offset > end) throw new FormatError("truncated", at, "custom section name");
  const name = new TextDecoder().decode(source.read(nameStart, nameSize));
  return { section: { name, address: 0, size: end - offset, offset, flags: 0, type }, end };
}
