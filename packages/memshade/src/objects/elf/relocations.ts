import { EM_386, EM_AARCH64, EM_X86_64, SHN_LORESERVE } from "./constants.ts";
import { getU64, viewOf } from "./header.ts";

/** What the relocations of one section need: their entries, and the symbols that they name. */
export interface RelocationInput {
  readonly entries: Uint8Array;
  /** Whether the entries have addends of their own (`SHT_RELA`); else they stand in the section. */
  readonly hasAddends: boolean;
  readonly symbols: Uint8Array;
  readonly is64: boolean;
  readonly machine: number;
  /** What is added for a symbol of a section: 0 for all but those that several of one name were joined into. */
  readonly baseOf: (sectionIndex: number) => number;
}

/** A section with its relocations applied. */
export interface Relocated {
  readonly content: Uint8Array;
  /** By offset: the index of the section that the address written there lies in. */
  readonly targets: ReadonlyMap<number, number>;
}

/** How a relocation is computed and written. */
interface Rule {
  readonly bytes: 4 | 8;
  readonly isRelative: boolean;
}

const ABSOLUTE_4: Rule = { bytes: 4, isRelative: false };
const ABSOLUTE_8: Rule = { bytes: 8, isRelative: false };
const RELATIVE_4: Rule = { bytes: 4, isRelative: true };
const RELATIVE_8: Rule = { bytes: 8, isRelative: true };

/** Those that occur in debug information, by machine and number in its psABI. */
const RULES: ReadonlyMap<number, ReadonlyMap<number, Rule>> = new Map([
  [
    EM_X86_64,
    new Map([
      [1, ABSOLUTE_8], // R_X86_64_64
      [2, RELATIVE_4], // R_X86_64_PC32
      [10, ABSOLUTE_4], // R_X86_64_32
      [11, ABSOLUTE_4], // R_X86_64_32S
      [17, ABSOLUTE_8], // R_X86_64_DTPOFF64
      [21, ABSOLUTE_4], // R_X86_64_DTPOFF32
      [24, RELATIVE_8], // R_X86_64_PC64
    ]),
  ],
  [
    EM_386,
    new Map([
      [1, ABSOLUTE_4], // R_386_32
      [2, RELATIVE_4], // R_386_PC32
      [32, ABSOLUTE_4], // R_386_TLS_LDO_32
    ]),
  ],
  [
    EM_AARCH64,
    new Map([
      [257, ABSOLUTE_8], // R_AARCH64_ABS64
      [258, ABSOLUTE_4], // R_AARCH64_ABS32
      [260, RELATIVE_8], // R_AARCH64_PREL64
      [261, RELATIVE_4], // R_AARCH64_PREL32
    ]),
  ],
]);

/**
 * Applies the relocations of a section of a relocatable object, in which every section starts at address 0. Those of
 * unknown kinds, or with places or symbols that are not there, are passed over.
 */
export function relocate(section: Uint8Array, input: RelocationInput): Relocated {
  const { entries, hasAddends, symbols, is64, machine, baseOf } = input;
  const content = section.slice();
  const targets = new Map<number, number>();
  const rules = RULES.get(machine);
  const place = viewOf(content);
  const entry = viewOf(entries);
  const symbol = viewOf(symbols);
  const word = is64 ? 8 : 4;
  const entryBytes = word * (hasAddends ? 3 : 2);
  const symbolBytes = is64 ? 24 : 16;
  for (let at = 0; at + entryBytes <= entries.length; at += entryBytes) {
    const offset = is64 ? getU64(entry, at) : entry.getUint32(at, true);
    const info = entry.getUint32(at + word, true);
    const kind = is64 ? info : info & 0xff;
    const symbolAt = (is64 ? entry.getUint32(at + 12, true) : info >>> 8) * symbolBytes;
    const rule = rules?.get(kind);
    if (rule === undefined || offset + rule.bytes > content.length) continue;
    if (symbolAt + symbolBytes > symbols.length) continue;
    const value = is64
      ? symbol.getBigUint64(symbolAt + 8, true)
      : BigInt(symbol.getUint32(symbolAt + 4, true));
    const sectionIndex = symbol.getUint16(symbolAt + (is64 ? 6 : 14), true);
    const isInSection = sectionIndex > 0 && sectionIndex < SHN_LORESERVE;
    const addend = hasAddends
      ? is64
        ? entry.getBigInt64(at + 16, true)
        : BigInt(entry.getInt32(at + 8, true))
      : rule.bytes === 8
        ? place.getBigInt64(offset, true)
        : BigInt(place.getInt32(offset, true));
    const base = isInSection ? BigInt(baseOf(sectionIndex)) : 0n;
    const result = value + base + addend - (rule.isRelative ? BigInt(offset) : 0n);
    if (rule.bytes === 8) place.setBigUint64(offset, BigInt.asUintN(64, result), true);
    else place.setUint32(offset, Number(BigInt.asUintN(32, result)), true);
    if (isInSection) targets.set(offset, sectionIndex);
  }
  return { content, targets };
}
