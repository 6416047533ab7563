import type { FormatError } from "../../bytes/errors.ts";
import { ByteReader } from "../../bytes/reader.ts";
import { SectionId } from "../../wasm/index.ts";
import { SymbolTable } from "../symbol-table.ts";

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
  nameSection: Uint8Array | undefined,
  problems: FormatError[],
): SymbolTable {
  const guarded = (section: Uint8Array | undefined, read: (reader: ByteReader) => void) => {
    if (section === undefined) return;
    try {
      read(new ByteReader(section));
    } catch (error) {
      problems.push(error as FormatError);
    }
  };
  let imported = 0;
  guarded(sectionOf(SectionId.Import), (reader) => {
    imported = countImportedFunctions(reader);
  });
  const names = new Map<number, () => string>();
  guarded(nameSection, (reader) => readFunctionNames(reader, names));
  const exported = new Map<number, () => string>();
  guarded(sectionOf(SectionId.Export), (reader) => readExportedFunctions(reader, exported));
  const addresses: number[] = [];
  const sizes: number[] = [];
  const texts: (() => string)[] = [];
  const traits: number[] = [];
  guarded(sectionOf(SectionId.Code), (reader) => {
    const count = reader.u32Leb();
    for (let defined = 0; defined < count; defined++) {
      const start = reader.position;
      reader.skip(reader.u32Leb(), "function body");
      const index = imported + defined;
      const text = exported.get(index) ?? names.get(index);
      if (text === undefined) continue;
      addresses.push(start);
      sizes.push(reader.position - start);
      texts.push(text);
      traits.push(exported.has(index) ? GLOBAL_FUNCTION : LOCAL_FUNCTION);
    }
  });
  return new SymbolTable({
    addresses: Float64Array.from(addresses),
    sizes: Float64Array.from(sizes),
    traits: Uint8Array.from(traits),
    nameOf: (row) => texts[row](),
  });
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

function readExportedFunctions(reader: ByteReader, exported: Map<number, () => string>): void {
  for (let left = reader.u32Leb(); left > 0; left--) {
    const text = readText(reader);
    const kind = reader.u8();
    const index = reader.u32Leb();
    if (kind === EXTERNAL_FUNCTION) exported.set(index, text);
  }
}

function readFunctionNames(reader: ByteReader, names: Map<number, () => string>): void {
  while (!reader.atEnd) {
    const id = reader.u8();
    const size = reader.u32Leb();
    const start = reader.skip(size, "name subsection");
    if (id !== FUNCTION_NAMES) continue;
    const subsection = new ByteReader(reader.bytes, start, start + size);
    for (let left = subsection.u32Leb(); left > 0; left--)
      names.set(subsection.u32Leb(), readText(subsection));
    return;
  }
}

/** The text at the reader's place, decoded when it is asked for. */
function readText(reader: ByteReader): () => string {
  const size = reader.u32Leb();
  const start = reader.skip(size, "name");
  const { bytes } = reader;
  return () => utf8.decode(bytes.subarray(start, start + size));
}
