import { type SymbolColumns, SymbolTable } from "../symbol-table.ts";
import {
  EM_AARCH64,
  hasFlag,
  SHF_ALLOC,
  SHN_ABS,
  SHN_LORESERVE,
  STB_LOCAL,
  STB_WEAK,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
  STT_OBJECT,
} from "./constants.ts";
import { type ElfSectionHeader, getU64, viewOf } from "./header.ts";

export interface ElfSymbolSections {
  readonly symbols: Uint8Array;
  readonly strings: Uint8Array;
  readonly is64: boolean;
  readonly machine: number;
  /** Decide which symbols name places of the program; empty if the file has no sections. */
  readonly sections: readonly ElfSectionHeader[];
}

/** Indices into `SYMBOL_KINDS` by ELF's type. */
const KIND_OF_TYPE: ReadonlyMap<number, number> = new Map([
  [STT_FUNC, 0],
  [STT_GNU_IFUNC, 0],
  [STT_OBJECT, 1],
  [STT_NOTYPE, 2],
]);

/** What ARM toolchains mark switches between code and data with: no names of anything. */
const MAPPING_SYMBOL = /^\$[adtx](?:\..*)?$/;

/**
 * Reads `.symtab` or `.dynsym`: named functions, data and untyped symbols that are defined in a loaded section.
 * These are the ones that llvm-symbolizer considers.
 */
export function readElfSymbols(input: ElfSymbolSections): SymbolTable {
  const { symbols, strings, is64, machine, sections } = input;
  const entrySize = is64 ? 24 : 16;
  const count = Math.floor(symbols.length / entrySize);
  const view = viewOf(symbols);
  const addresses = new Float64Array(count);
  const sizes = new Float64Array(count);
  const traits = new Uint8Array(count);
  const nameOffsets = new Uint32Array(count);
  let kept = 0;
  for (let at = 0; at + entrySize <= symbols.length; at += entrySize) {
    const info = symbols[at + (is64 ? 4 : 12)];
    const kind = KIND_OF_TYPE.get(info & 15);
    const sectionIndex = view.getUint16(at + (is64 ? 6 : 14), true);
    if (kind === undefined || !isInProgram(sectionIndex, sections)) continue;
    const nameOffset = view.getUint32(at, true);
    if (nameOffset >= strings.length || strings[nameOffset] === 0) continue;
    if (kind === 2 && machine === EM_AARCH64 && strings[nameOffset] === 0x24) {
      if (MAPPING_SYMBOL.test(readString(strings, nameOffset))) continue;
    }
    addresses[kept] = is64 ? getU64(view, at + 8) : view.getUint32(at + 4, true);
    sizes[kept] = is64 ? getU64(view, at + 16) : view.getUint32(at + 8, true);
    traits[kept] = kind | (bindingOf(info >> 4) << 2);
    nameOffsets[kept] = nameOffset;
    kept++;
  }
  const columns: SymbolColumns = {
    addresses: addresses.subarray(0, kept),
    sizes: sizes.subarray(0, kept),
    traits: traits.subarray(0, kept),
    nameOf: (row) => readString(strings, nameOffsets[row]),
  };
  return new SymbolTable(columns);
}

function isInProgram(sectionIndex: number, sections: readonly ElfSectionHeader[]): boolean {
  if (sectionIndex === 0 || sectionIndex === SHN_ABS) return false;
  // Indices above 65,279 stand in a table of their own: files with so many sections have no other kind of symbol.
  if (sectionIndex >= SHN_LORESERVE || sections.length === 0) return true;
  const section = sections[sectionIndex];
  return section === undefined || hasFlag(section.flags, SHF_ALLOC);
}

/** Index into `SYMBOL_BINDINGS`. */
function bindingOf(binding: number): number {
  return binding === STB_LOCAL ? 0 : binding === STB_WEAK ? 2 : 1;
}

const lenientUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The NUL-terminated string at an offset of a string table; empty outside of it. */
export function readString(strings: Uint8Array, offset: number): string {
  if (offset >= strings.length) return "";
  const end = strings.indexOf(0, offset);
  const bytes = strings.subarray(offset, end < 0 ? strings.length : end);
  if (bytes.length > 64) return lenientUtf8.decode(bytes);
  let text = "";
  for (const byte of bytes) {
    if (byte >= 0x80) return lenientUtf8.decode(bytes);
    text += String.fromCharCode(byte);
  }
  return text;
}
