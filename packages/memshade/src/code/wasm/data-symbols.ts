import { ByteReader } from "../../ground/bytes/reader.ts";
import { initialValue, readNames, segmentAddress } from "./names.ts";
import { I32, I64, type WasmModule } from "./types.ts";

interface DataSymbol {
  readonly name: string;
  readonly address: number;
  readonly bytes: number | undefined;
}

/** Names of linkers for places in the memory, not for data. */
const LINKERS =
  /^__(data_end|heap_(base|end)|stack_(low|high|pointer)|global_base|dso_handle|memory_base|table_base|tls_(base|size|align)|wasm_first_page_end)$/;
/** Prefix of globals with addresses of data, in position-independent code. */
const INTERNAL = "GOT.data.internal.";

const SYMBOL_TABLE = 8;
const DATA_SYMBOL = 1;
const SECTION_SYMBOL = 3;
const UNDEFINED = 0x10;
const EXPLICIT_NAME = 0x40;

/**
 * Names of a module's static data, by address. Sources are the linking section of modules linked with relocations,
 * exported addresses, and globals of position-independent code. Damaged parts are left out.
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
    // Names are optional, so a damaged section is ignored.
  }
  for (const { kind, name, index } of module.exports)
    if (kind === "global" && isAddress(module, index)) add(name, initialValue(module, index), undefined);
  for (const [index, name] of readNames(module).globals)
    if (name.startsWith(INTERNAL)) add(name.slice(INTERNAL.length), initialValue(module, index), undefined);
  return [...symbols.values()].sort((a, b) => a.address - b.address);
}

/** Addresses are constants; a mutable global is a variable of the program. */
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
  for (let remaining = reader.u32Leb(); remaining > 0; remaining--) {
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
