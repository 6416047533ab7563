import type { FormatError } from "../../bytes/errors.ts";
import { ByteReader } from "../../bytes/reader.ts";
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
 * The functions of the code section that have a name: exported ones, under the name of their export, are global, others
 * local. Their address is that of their entry, of its length, as in
 * llvm-symbolizer; the low address of DWARF is the one behind the length.
 *
 * No function is decoded: of modules of fifty megabytes this reads a few.
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

/**
 * What the table that `readWasmSymbols` makes would find at an address, without making it.
 *
 * @throws FormatError where it meets damage: the table knows what can be known then
 */
export function findWasmSymbol(
  address: number,
  sectionOf: (id: number) => Uint8Array | undefined,
  bodies: (visit: (index: number, start: number, size: number) => boolean) => void,
  nameSection: Uint8Array | undefined,
): ObjectSymbol | undefined {
  let defined = -1;
  let place = { address: 0, size: 0 };
  bodies((index, start, size) => {
    const isFound = address >= start && address < start + size;
    if (isFound) {
      defined = index;
      place = { address: start, size };
    }
    return isFound || start > address;
  });
  if (defined < 0) return undefined;
  const imports = sectionOf(SectionId.Import);
  const index = defined + (imports === undefined ? 0 : countImportedFunctions(new ByteReader(imports)));
  let name: string | undefined;
  const take = (section: Uint8Array) => (each: number, start: number, size: number) => {
    if (each === index) name = utf8.decode(section.subarray(start, start + size));
  };
  const exports = sectionOf(SectionId.Export);
  if (exports !== undefined) visitExportedFunctions(new ByteReader(exports), take(exports));
  if (name !== undefined) return { ...place, name, kind: "function", binding: "global" };
  if (nameSection !== undefined) visitFunctionNames(new ByteReader(nameSection), take(nameSection));
  return name === undefined ? undefined : { ...place, name, kind: "function", binding: "local" };
}

/** Where the names of functions stand in a section, by the functions' indices. */
class NamePlaces {
  #starts = new Uint32Array(256);
  #sizes = new Uint32Array(256);

  /** A place is never at the start of a section. */
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

/** Engines take fewer; a damaged index must not ask for gigabytes. */
const MOST_FUNCTIONS = 1 << 22;

function enlarged(column: Uint32Array, index: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(index + 1, column.length * 2));
  larger.set(column);
  return larger;
}

function countImportedFunctions(reader: ByteReader): number {
  let functions = 0;
  for (let left = reader.u32Leb(); left > 0; left--) {
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

/** `(ref …)` and `(ref null …)` have the heap type behind them. */
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

/** Is told the index of a function, and where its name starts and how long it is. */
type VisitName = (index: number, start: number, size: number) => void;

function visitExportedFunctions(reader: ByteReader, visit: VisitName): void {
  for (let left = reader.u32Leb(); left > 0; left--) {
    const size = reader.u32Leb();
    const start = reader.skip(size, "name");
    const kind = reader.u8();
    const index = reader.u32Leb();
    if (kind === EXTERNAL_FUNCTION) visit(index, start, size);
  }
}

function visitFunctionNames(reader: ByteReader, visit: VisitName): void {
  while (!reader.atEnd) {
    const id = reader.u8();
    const size = reader.u32Leb();
    const start = reader.skip(size, "name subsection");
    if (id !== FUNCTION_NAMES) continue;
    const subsection = new ByteReader(reader.bytes, start, start + size);
    for (let left = subsection.u32Leb(); left > 0; left--) {
      const index = subsection.u32Leb();
      const length = subsection.u32Leb();
      visit(index, subsection.skip(length, "name"), length);
    }
    return;
  }
}
