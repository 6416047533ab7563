import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import {
  type ObjectSymbol,
  SYMBOL_BINDINGS,
  SYMBOL_KINDS,
  type SymbolColumns,
  SymbolTable,
} from "../symbol-table.ts";
import * as elf from "./constants.ts";
import type { ElfSectionHeader } from "./header.ts";

export interface ElfSymbolSections {
  readonly symbols: Uint8Array;
  readonly strings: Uint8Array;
  readonly is64: boolean;
  readonly machine: number;
  /** Sections that decide which symbols belong to the loaded program; empty if the file has no sections. */
  readonly sections: readonly ElfSectionHeader[];
}

const DOLLAR = 0x24;
const DOT = 0x2e;

const NO_KIND = 255;

const KIND_OF_TYPE = new Uint8Array(16).fill(NO_KIND);
KIND_OF_TYPE[elf.STT_FUNC] = 0;
KIND_OF_TYPE[elf.STT_GNU_IFUNC] = 0;
KIND_OF_TYPE[elf.STT_OBJECT] = 1;
KIND_OF_TYPE[elf.STT_NOTYPE] = 2;

/**
 * Mapping symbols between code and data, and RISC-V's labels for differences; neither names anything in the
 * program.
 */
const MARKS: ReadonlyMap<number, RegExp> = new Map([
  [elf.EM_ARM, /^\$[adt](?:\..*)?$/],
  [elf.EM_AARCH64, /^\$[dx](?:\..*)?$/],
  [elf.EM_RISCV, /^\$(?:d(?:\..*)?|x.*)$|^\.L0 $/],
]);

/**
 * Receives a symbol: its address and size, `traits` as in `SymbolColumns`, and the offsets of its names (0 for no
 * file).
 */
type VisitSymbol = (
  address: number,
  size: number,
  traits: number,
  nameOffset: number,
  fileNameOffset: number,
) => void;

/**
 * Visits named functions, data and untyped symbols that are defined in a loaded section. llvm-symbolizer considers
 * the same symbols.
 */
function visitElfSymbols(input: ElfSymbolSections, visit: VisitSymbol): void {
  const { symbols, strings, is64, machine, sections } = input;
  const entrySize = is64 ? 24 : 16;
  const view = viewOf(symbols);
  const isNamed = namedSections(sections);
  const marks = MARKS.get(machine);
  let fileNameOffset = 0;
  for (let at = 0; at + entrySize <= symbols.length; at += entrySize) {
    const info = symbols[at + (is64 ? 4 : 12)];
    // Local symbols follow the symbol that names their file.
    if ((info & 15) === elf.STT_FILE) fileNameOffset = view.getUint32(at, true);
    const kind = KIND_OF_TYPE[info & 15];
    const sectionIndex = view.getUint16(at + (is64 ? 6 : 14), true);
    if (kind === NO_KIND || !isNamed[sectionIndex]) continue;
    const nameOffset = view.getUint32(at, true);
    if (nameOffset >= strings.length || strings[nameOffset] === 0) continue;
    const isMark = kind === 2 && (strings[nameOffset] === DOLLAR || strings[nameOffset] === DOT);
    if (isMark && marks?.test(readString(strings, nameOffset))) continue;
    const address = is64 ? getU64(view, at + 8) : view.getUint32(at + 4, true);
    const size = is64 ? getU64(view, at + 16) : view.getUint32(at + 8, true);
    const binding = info >> 4;
    visit(
      address,
      size,
      kind | (bindingOf(binding) << 2),
      nameOffset,
      binding === elf.STB_LOCAL ? fileNameOffset : 0,
    );
  }
}

export function readElfSymbols(input: ElfSymbolSections): SymbolTable {
  const { symbols, strings, is64 } = input;
  const count = Math.floor(symbols.length / (is64 ? 24 : 16));
  const addresses = new Float64Array(count);
  const sizes = new Float64Array(count);
  const traits = new Uint8Array(count);
  const nameOffsets = new Uint32Array(count);
  const fileNameOffsets = new Uint32Array(count);
  let filled = 0;
  visitElfSymbols(input, (address, size, trait, nameOffset, fileNameOffset) => {
    addresses[filled] = address;
    sizes[filled] = size;
    traits[filled] = trait;
    nameOffsets[filled] = nameOffset;
    fileNameOffsets[filled] = fileNameOffset;
    filled++;
  });
  const columns: SymbolColumns = {
    addresses: addresses.subarray(0, filled),
    sizes: sizes.subarray(0, filled),
    traits: traits.subarray(0, filled),
    nameOf: (row) => readString(strings, nameOffsets[row]),
    fileOf: (row) => (fileNameOffsets[row] === 0 ? undefined : readString(strings, fileNameOffsets[row])),
  };
  return new SymbolTable(columns);
}

/** Finds the symbol that the table would find at an address, without building the table. */
export function findElfSymbol(input: ElfSymbolSections, wanted: number): ObjectSymbol | undefined {
  let found = -1;
  let foundSize = 0;
  let foundTraits = 0;
  let name = 0;
  let file = 0;
  visitElfSymbols(input, (address, size, traits, nameOffset, fileNameOffset) => {
    if (address > wanted || address < found || (address === found && size < foundSize)) return;
    found = address;
    foundSize = size;
    foundTraits = traits;
    name = nameOffset;
    file = fileNameOffset;
  });
  if (found < 0 || (foundSize !== 0 && wanted >= found + foundSize)) return undefined;
  return {
    ...(file === 0 ? {} : { file: readString(input.strings, file) }),
    address: found,
    size: foundSize,
    name: readString(input.strings, name),
    kind: SYMBOL_KINDS[foundTraits & 3],
    binding: SYMBOL_BINDINGS[foundTraits >> 2],
  };
}

function namedSections(sections: readonly ElfSectionHeader[]): Uint8Array {
  // Special indices and those above the table pass, since files with very many sections keep some indices in a
  // separate table.
  const isNamed = new Uint8Array(2 ** 16).fill(1);
  isNamed[elf.SHN_ABS] = 0;
  sections.forEach(({ flags }, index) => {
    if (index < elf.SHN_LORESERVE && !elf.hasFlag(flags, elf.SHF_ALLOC)) isNamed[index] = 0;
  });
  isNamed[0] = 0;
  return isNamed;
}

function bindingOf(binding: number): number {
  return binding === elf.STB_LOCAL ? 0 : binding === elf.STB_WEAK ? 2 : 1;
}

const lenientUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the NUL-terminated string at an offset of a string table; empty if the offset is outside. */
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
