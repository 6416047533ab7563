import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import { EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_X86_64, SHN_LORESERVE } from "./constants.ts";

export interface RelocationInput {
  readonly entries: Uint8Array;
  /** True if the entries have addends (`SHT_RELA`); otherwise the addends are in the section. */
  readonly hasAddends: boolean;
  readonly symbols: Uint8Array;
  readonly is64: boolean;
  readonly machine: number;
  /** Offset added for a section's symbol: 0 unless the section was joined with others of its name. */
  readonly baseOf: (sectionIndex: number) => number;
}

export interface Relocated {
  readonly content: Uint8Array;
  /** Section index of each address in the content, by its offset. */
  readonly targets: ReadonlyMap<number, number>;
}

interface Rule {
  /** Width of the number; 0 for LEB128, which keeps its length. */
  readonly bytes: 0 | 1 | 2 | 4 | 8;
  /** The value is an address, or its distance from the offset, or is added to or subtracted from the content. */
  readonly kind: "absolute" | "relative" | "add" | "subtract";
  readonly bits?: number;
}

const ABSOLUTE_4: Rule = { bytes: 4, kind: "absolute" };
const ABSOLUTE_8: Rule = { bytes: 8, kind: "absolute" };
const RELATIVE_4: Rule = { bytes: 4, kind: "relative" };
const RELATIVE_8: Rule = { bytes: 8, kind: "relative" };

/** Difference of two addresses that a linker may change: a pair of relocations at one offset. */
const DIFFERENCES_OF_RISCV: readonly (readonly [number, Rule])[] = [
  ...([1, 2, 4, 8] as const).flatMap((bytes, index): (readonly [number, Rule])[] => [
    [33 + index, { bytes, kind: "add" }], // R_RISCV_ADD8 to ADD64
    [37 + index, { bytes, kind: "subtract" }], // R_RISCV_SUB8 to SUB64
  ]),
  ...([1, 2, 4] as const).map((bytes, index) => [54 + index, { bytes, kind: "absolute" }] as const), // R_RISCV_SET8 to SET32
  [52, { bytes: 1, kind: "subtract", bits: 6 }], // R_RISCV_SUB6
  [53, { bytes: 1, kind: "absolute", bits: 6 }], // R_RISCV_SET6
  [60, { bytes: 0, kind: "absolute" }], // R_RISCV_SET_ULEB128
  [61, { bytes: 0, kind: "subtract" }], // R_RISCV_SUB_ULEB128
];

/** Relocations that occur in debug information, by machine and psABI number. */
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
  [
    EM_ARM,
    new Map([
      [2, ABSOLUTE_4], // R_ARM_ABS32
      [3, RELATIVE_4], // R_ARM_REL32
      [106, ABSOLUTE_4], // R_ARM_TLS_LDO32
    ]),
  ],
  [
    EM_PPC64,
    new Map([
      [1, ABSOLUTE_4], // R_PPC64_ADDR32
      [26, RELATIVE_4], // R_PPC64_REL32
      [38, ABSOLUTE_8], // R_PPC64_ADDR64
      [44, RELATIVE_8], // R_PPC64_REL64
      [78, ABSOLUTE_8], // R_PPC64_DTPREL64
    ]),
  ],
  [
    EM_RISCV,
    new Map([
      [1, ABSOLUTE_4], // R_RISCV_32
      [2, ABSOLUTE_8], // R_RISCV_64
      [8, ABSOLUTE_4], // R_RISCV_TLS_DTPREL32
      [9, ABSOLUTE_8], // R_RISCV_TLS_DTPREL64
      [57, RELATIVE_4], // R_RISCV_32_PCREL
      ...DIFFERENCES_OF_RISCV,
    ]),
  ],
]);

export function canRelocate(machine: number): boolean {
  return RULES.has(machine);
}

/**
 * Applies the relocations of a section of a relocatable object, in which every section starts at address 0.
 * Relocations of unknown kinds, or with absent places or symbols, are skipped.
 */
export function relocate(section: Uint8Array, input: RelocationInput): Relocated {
  const { entries, hasAddends, symbols, is64, machine, baseOf } = input;
  const content = section.slice();
  const targets = new Map<number, number>();
  const rules = RULES.get(machine);
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
    if (rule === undefined || offset + Math.max(rule.bytes, 1) > content.length) continue;
    if (symbolAt + symbolBytes > symbols.length) continue;
    const value = is64
      ? symbol.getBigUint64(symbolAt + 8, true)
      : BigInt(symbol.getUint32(symbolAt + 4, true));
    const sectionIndex = symbol.getUint16(symbolAt + (is64 ? 6 : 14), true);
    const isInSection = sectionIndex > 0 && sectionIndex < SHN_LORESERVE;
    const before = readPlace(content, offset, rule);
    const addend = hasAddends
      ? is64
        ? entry.getBigInt64(at + 16, true)
        : BigInt(entry.getInt32(at + 8, true))
      : BigInt.asIntN(8 * rule.bytes, before);
    const base = isInSection ? BigInt(baseOf(sectionIndex)) : 0n;
    const address = value + base + addend;
    writePlace(content, offset, rule, resultOf(rule, address, before, offset));
    // A difference is no address.
    if (isInSection && (rule.kind === "absolute" || rule.kind === "relative"))
      targets.set(offset, sectionIndex);
  }
  return { content, targets };
}

function resultOf({ kind }: Rule, address: bigint, before: bigint, offset: number): bigint {
  switch (kind) {
    case "absolute":
      return address;
    case "relative":
      return address - BigInt(offset);
    case "add":
      return before + address;
    case "subtract":
      return before - address;
  }
}

function lebBytes(content: Uint8Array, offset: number): number {
  let end = offset;
  while (end < content.length && (content[end] & 0x80) !== 0) end++;
  return Math.min(end + 1, content.length) - offset;
}

function readPlace(content: Uint8Array, offset: number, { bytes, bits = 8 * bytes }: Rule): bigint {
  let value = 0n;
  const width = bytes === 0 ? lebBytes(content, offset) : bytes;
  const step = bytes === 0 ? 7n : 8n;
  for (let index = width - 1; index >= 0; index--)
    value = (value << step) | BigInt(bytes === 0 ? content[offset + index] & 0x7f : content[offset + index]);
  return bytes === 0 ? value : BigInt.asUintN(bits, value);
}

function writePlace(content: Uint8Array, offset: number, rule: Rule, result: bigint): void {
  const { bytes, bits = 8 * bytes } = rule;
  if (bytes === 0) {
    const width = lebBytes(content, offset);
    for (let index = 0; index < width; index++) {
      const more = index + 1 < width ? 0x80 : 0;
      content[offset + index] = Number((result >> BigInt(7 * index)) & 0x7fn) | more;
    }
    return;
  }
  if (bits < 8) {
    const mask = (1 << bits) - 1;
    content[offset] = (content[offset] & ~mask) | Number(BigInt.asUintN(bits, result));
    return;
  }
  const value = BigInt.asUintN(8 * bytes, result);
  for (let index = 0; index < bytes; index++)
    content[offset + index] = Number((value >> BigInt(8 * index)) & 0xffn);
}
