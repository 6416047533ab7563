import type { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import { SectionId } from "../../wasm/sections.ts";
import { type ObjectSymbol, SymbolTable } from "../symbol-table.ts";

const LOCAL_FUNCTION = 0;
const GLOBAL_FUNCTION = 1 << 2;
const FUNCTION_NAMES = 1;

const EXTERNAL_FUNCTION = 0;
const EXTERNAL_TABLE = 1;
const EXTERNAL_MEMORY = 2;
const EXTERNAL_GLOBAL = 3;
const EXTERNAL_TAG = 4;

const utf8 = new TextDecoder();

/**
 * Symbols of the code section's functions that have a name. Exported functions are global, under their export name;
 * others are local. As in llvm-symbolizer, the address is that of the entry's size field; DWARF's low address
 * follows the size field.
 *
 * No function is decoded, so only a small part of a large module is read.
 */
export function readWasmSymbols(
  sectionOf: (id: number) => Uint8Array | undefined,
  bodies: (visit: (index: number, start: number, size: number) => false) => void,
  nameSection: Uint8Array | undefined,
  problems: FormatError[],
): SymbolTable {
  const guarded = (read: () => void) => {
    try {
      read();
    } catch (error) {
      problems.push(error as FormatError);
    }
  };
  const readSection = (section: Uint8Array | undefined, read: (reader: ByteReader) => void) => {
    if (section !== undefined) guarded(() => read(new ByteReader(section)));
  };
  let imported = 0;
  readSection(sectionOf(SectionId.Import), (reader) => {
    imported = countImportedFunctions(reader);
  });
  const names = new NamePlaces();
  readSection(nameSection, (reader) =>
    visitFunctionNames(reader, (index, start, size) => names.set(index, start, size)),
  );
  const exported = new NamePlaces();
  const exports = sectionOf(SectionId.Export);
  readSection(exports, (reader) =>
    visitExportedFunctions(reader, (index, start, size) => exported.set(index, start, size)),
  );
  const addresses: number[] = [];
  const sizes: number[] = [];
  const indices: number[] = [];
  const traits: number[] = [];
  guarded(() =>
    bodies((defined, start, size) => {
      const index = imported + defined;
      const isExported = exported.has(index);
      if (!isExported && !names.has(index)) return false;
      addresses.push(start);
      sizes.push(size);
      indices.push(index);
      traits.push(isExported ? GLOBAL_FUNCTION : LOCAL_FUNCTION);
      return false;
    }),
  );
  return new SymbolTable({
    addresses: Float64Array.from(addresses),
    sizes: Float64Array.from(sizes),
    traits: Uint8Array.from(traits),
    nameOf: (row) => exported.textOf(indices[row], exports) ?? names.textOf(indices[row], nameSection) ?? "",
  });
}

export interface FunctionBody {
  readonly index: number;
  readonly address: number;
  readonly size: number;
}

/**
 * Finds the symbol that the table of `readWasmSymbols` has for a function, without building the table.
 *
 * @param nameSection undefined if only exported functions are searched
 * @throws FormatError if the module is damaged; the table then has the symbols that can be read
 */
export function findWasmSymbol(
  { index: defined, ...place }: FunctionBody,
  sectionOf: (id: number) => Uint8Array | undefined,
  nameSection: Uint8Array | undefined,
): ObjectSymbol | undefined {
  const imports = sectionOf(SectionId.Import);
  const index = defined + (imports === undefined ? 0 : countImportedFunctions(new ByteReader(imports)));
  let name: string | undefined;
  const take = (section: Uint8Array) => (each: number, start: number, size: number) => {
    if (each === index) name = utf8.decode(section.subarray(start, start + size));
  };
  const exports = sectionOf(SectionId.Export);
  if (exports !== undefined) visitExportedFunctions(new ByteReader(exports), take(exports));
  if (name !== undefined) return { ...place, name, kind: "function", binding: "global" };
  if (nameSection !== undefined) {
    const found = placeOfFunctionName(new ByteReader(nameSection), index);
    if (found !== undefined) name = utf8.decode(nameSection.subarray(found.start, found.end));
  }
  return name === undefined ? undefined : { ...place, name, kind: "function", binding: "local" };
}

class NamePlaces {
  #starts = new Uint32Array(256);
  #sizes = new Uint32Array(256);

  /** A name is never at offset 0 of a section. */
  has(index: number): boolean {
    return index < this.#starts.length && this.#starts[index] !== 0;
  }

  set(index: number, start: number, size: number): void {
    if (index >= MOST_FUNCTIONS) return;
    if (index >= this.#starts.length) {
      this.#starts = enlarged(this.#starts, index);
      this.#sizes = enlarged(this.#sizes, index);
    }
    this.#starts[index] = start;
    this.#sizes[index] = size;
  }

  textOf(index: number, section: Uint8Array | undefined): string | undefined {
    if (section === undefined || !this.has(index)) return undefined;
    const start = this.#starts[index];
    return utf8.decode(section.subarray(start, start + this.#sizes[index]));
  }
}

/** Engines accept fewer functions; the limit keeps a damaged index from allocating gigabytes. */
const MOST_FUNCTIONS = 1 << 22;

function enlarged(column: Uint32Array, index: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(index + 1, column.length * 2));
  larger.set(column);
  return larger;
}

function countImportedFunctions(reader: ByteReader): number {
  let functions = 0;
  for (let remaining = reader.u32Leb(); remaining > 0; remaining--) {
    reader.skip(reader.u32Leb());
    reader.skip(reader.u32Leb());
    switch (reader.u8()) {
      case EXTERNAL_FUNCTION:
        reader.u32Leb();
        functions++;
        break;
      case EXTERNAL_TABLE:
        skipValueType(reader);
        skipLimits(reader);
        break;
      case EXTERNAL_MEMORY:
        skipLimits(reader);
        break;
      case EXTERNAL_GLOBAL:
        skipValueType(reader);
        reader.skip(1);
        break;
      case EXTERNAL_TAG:
        reader.skip(1);
        reader.u32Leb();
        break;
      default:
        return functions;
    }
  }
  return functions;
}

/** `(ref …)` and `(ref null …)` are followed by the heap type. */
function skipValueType(reader: ByteReader): void {
  const type = reader.u8();
  if (type === 0x63 || type === 0x64) reader.s33Leb();
}

const LIMITS_MAXIMUM = 1;
const LIMITS_PAGE_SIZE = 8;

function skipLimits(reader: ByteReader): void {
  const flags = reader.u8();
  reader.u64Leb();
  if (flags & LIMITS_MAXIMUM) reader.u64Leb();
  if (flags & LIMITS_PAGE_SIZE) reader.u32Leb();
}

type VisitName = (index: number, start: number, size: number) => void;

function visitExportedFunctions(reader: ByteReader, visit: VisitName): void {
  for (let remaining = reader.u32Leb(); remaining > 0; remaining--) {
    const size = reader.u32Leb();
    const start = reader.skip(size, "name");
    const kind = reader.u8();
    const index = reader.u32Leb();
    if (kind === EXTERNAL_FUNCTION) visit(index, start, size);
  }
}

function visitFunctionNames(reader: ByteReader, visit: VisitName): void {
  const subsection = functionNamesOf(reader);
  if (subsection === undefined) return;
  for (let remaining = subsection.u32Leb(); remaining > 0; remaining--) {
    const index = subsection.u32Leb();
    const length = subsection.u32Leb();
    visit(index, subsection.skip(length, "name"), length);
  }
}

/** Finds the last name of a function like `visitFunctionNames`, but without a call for each of thousands of names. */
function placeOfFunctionName(
  reader: ByteReader,
  wanted: number,
): { readonly start: number; readonly end: number } | undefined {
  const subsection = functionNamesOf(reader);
  if (subsection === undefined) return undefined;
  const { bytes } = subsection;
  let found: { start: number; end: number } | undefined;
  for (let remaining = subsection.u32Leb(); remaining > 0; remaining--) {
    let at = subsection.position;
    let index = bytes[at++];
    if (index >= 0x80) {
      index = (index & 0x7f) | ((bytes[at] & 0x7f) << 7);
      if (bytes[at++] >= 0x80) {
        index |= bytes[at] << 14;
        if (bytes[at++] >= 0x80) index = UNUSUAL;
      }
    }
    const length = bytes[at++];
    if (index !== UNUSUAL && length < 0x80) {
      subsection.skip(at - subsection.position + length, "name");
    } else {
      index = subsection.u32Leb();
      const size = subsection.u32Leb();
      at = subsection.skip(size, "name");
    }
    if (index === wanted) found = { start: at, end: subsection.position };
  }
  return found;
}

/** Placeholder for an index of four bytes or more. */
const UNUSUAL = -1;

function functionNamesOf(reader: ByteReader): ByteReader | undefined {
  while (!reader.atEnd) {
    const id = reader.u8();
    const size = reader.u32Leb();
    const start = reader.skip(size, "name subsection");
    if (id === FUNCTION_NAMES) return new ByteReader(reader.bytes, start, start + size);
  }
  return undefined;
}
