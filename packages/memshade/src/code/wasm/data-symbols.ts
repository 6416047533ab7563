import { ByteReader } from "../../ground/bytes/reader.ts";
import { initialValue, readNames, segmentAddress } from "./names.ts";
import { I32, I64, type WasmModule } from "./types.ts";

/** A name for an address of the program's memory. */
interface DataSymbol {
  readonly name: string;
  readonly address: number;
  /** Undefined where the module does not say it. */
  readonly bytes: number | undefined;
}

/** Names that linkers make for places in the memory, not for data. */
const LINKERS =
  /^__(data_end|heap_(base|end)|stack_(low|high|pointer)|global_base|dso_handle|memory_base|table_base|tls_(base|size|align)|wasm_first_page_end)$/;
/** Globals by this name hold addresses of data in code that does not depend on where it is loaded. */
const INTERNAL = "GOT.data.internal.";

const SYMBOL_TABLE = 8;
const DATA_SYMBOL = 1;
const SECTION_SYMBOL = 3;
const UNDEFINED = 0x10;
const EXPLICIT_NAME = 0x40;

/**
 * The names that a module has for its static data, by address: those of the linking section of modules that were linked with
 * relocations, exported addresses, and addresses of code that can be loaded anywhere. What is damaged is left out.
 */
export function dataSymbols(module: WasmModule): DataSymbol[] {
  const symbols = new Map<number, DataSymbol>();
  const add = (name: string, address: number | undefined, bytes: number | undefined): void => {
    if (address !== undefined && !LINKERS.test(name) && !symbols.has(address))
      symbols.set(address, { name, address, bytes });
  };
  try {
    for (const { name, segment, offset, bytes } of linkedSymbols(module)) {
      const start = module.data[segment] && segmentAddress(module, module.data[segment]);
      add(name, start === undefined ? undefined : start + offset, bytes);
    }
  } catch {
    // Names are a courtesy.
  }
  for (const { kind, name, index } of module.exports)
    if (kind === "global" && isAddress(module, index)) add(name, initialValue(module, index), undefined);
  for (const [index, name] of readNames(module).globals)
    if (name.startsWith(INTERNAL)) add(name.slice(INTERNAL.length), initialValue(module, index), undefined);
  return [...symbols.values()].sort((a, b) => a.address - b.address);
}

/** Addresses are constants; what changes is a variable of the program. */
function isAddress(module: WasmModule, global: number): boolean {
  const own = module.globals[global - module.importedGlobalCount];
  return own !== undefined && !own.mutable && (own.type === I32 || own.type === I64);
}

interface LinkedSymbol {
  readonly name: string;
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
}

/** The data symbols of the custom section "linking". */
function* linkedSymbols({ customs, bytes }: WasmModule): Generator<LinkedSymbol> {
  const section = customs.find(({ name }) => name === "linking");
  if (section?.contentStart === undefined) return;
  const reader = new ByteReader(bytes, section.contentStart, section.payloadEnd);
  reader.u32Leb();
  while (!reader.atEnd) {
    const kind = reader.u8();
    const size = reader.u32Leb();
    const end = reader.position + size;
    if (kind === SYMBOL_TABLE) yield* symbolTable(reader);
    reader.position = end;
  }
}

function* symbolTable(reader: ByteReader): Generator<LinkedSymbol> {
  const utf8 = new TextDecoder();
  const name = (): string => utf8.decode(reader.view(reader.u32Leb()));
  for (let left = reader.u32Leb(); left > 0; left--) {
    const kind = reader.u8();
    const flags = reader.u32Leb();
    if (kind === DATA_SYMBOL) {
      const symbol = name();
      if (flags & UNDEFINED) continue;
      const segment = reader.u32Leb();
      const offset = reader.u32Leb();
      const bytes = reader.u32Leb();
      if (bytes > 0) yield { name: symbol, segment, offset, bytes };
    } else {
      reader.u32Leb();
      if (kind !== SECTION_SYMBOL && ((flags & UNDEFINED) === 0 || (flags & EXPLICIT_NAME) !== 0)) name();
    }
  }
}
