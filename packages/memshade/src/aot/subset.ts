import { ACCESS_BYTES, ACCESS_KIND, AccessKind, OPCODES, type OpcodeName, opcodeId, RESULT_TYPE } from "../wasm/opcodes.ts";
import { I32, I64 } from "../wasm/types.ts";
import type { Condition } from "../x64/index.ts";
import { ATOMICS, VECTORS } from "./vector-subset.ts";

/** How `lower/` treats an instruction: the name of its rule, and what the rule must know beside the instruction's name. */
export interface Lowering {
  rule: string;
  /** A mnemonic, or a condition. */
  name: string;
  /** 64 bits. */
  wide: boolean;
  bytes: number;
  signed: boolean;
}

/** Rules of instructions that no other shares one with. */
const SINGLE: readonly OpcodeName[] = [
  ...(["unreachable", "nop", "block", "loop", "if", "else", "end", "br", "br_if", "br_table", "return"] as const),
  ...(["call", "drop", "select", "local.get", "local.set", "local.tee", "global.get", "global.set"] as const),
  ...(["i32.const", "i64.const", "memory.fill", "memory.copy", "i32.wrap_i64", "i64.extend_i32_u"] as const),
  ...(["v128.const", "v128.load", "v128.store", "atomic.fence"] as const),
];

/** What exists for i32 and for i64, behind the dot: the rule, and a mnemonic or a condition. */
const BOTH: Readonly<Record<string, readonly [rule: string, name: string]>> = {
  ...{ add: ["add", "add"], sub: ["sub", "sub"], mul: ["arithmetic", "imul"], and: ["arithmetic", "and"] },
  ...{ or: ["arithmetic", "or"], xor: ["arithmetic", "xor"], shl: ["shift left", "shl"] },
  ...{ shr_s: ["shift", "sar"], shr_u: ["shift", "shr"], rotl: ["shift", "rol"], rotr: ["shift", "ror"] },
  ...{ div_s: ["divide", "div_s"], div_u: ["divide", "div_u"], rem_s: ["divide", "rem_s"], rem_u: ["divide", "rem_u"] },
  ...{ clz: ["count", "clz"], ctz: ["count", "ctz"], popcnt: ["count", "popcnt"] },
};
const COMPARISONS: Readonly<Record<string, Condition>> = {
  ...{ eq: "e", ne: "ne", lt_s: "l", lt_u: "b", gt_s: "g", gt_u: "a", le_s: "le", le_u: "be", ge_s: "ge", ge_u: "ae" },
};
const EXTENSIONS: readonly OpcodeName[] = [
  ...(["i32.extend8_s", "i32.extend16_s", "i64.extend8_s", "i64.extend16_s", "i64.extend32_s"] as const),
  "i64.extend_i32_s",
];

/** Every instruction that machine code is made of, by its id. */
export const SUBSET: ReadonlyMap<number, Lowering> = new Map(allRows());

function allRows(): [number, Lowering][] {
  const row = (name: string, rule: string, more: Partial<Lowering> = {}): [number, Lowering] => {
    const wide = name.startsWith("i64");
    return [opcodeId(name as OpcodeName), { rule, name: "", wide, bytes: wide ? 8 : 4, signed: false, ...more }];
  };
  const both = ["i32", "i64"].flatMap((type) => [
    ...Object.entries(BOTH).map(([name, [rule, mnemonic]]) => row(`${type}.${name}`, rule, { name: mnemonic })),
    ...Object.entries(COMPARISONS).map(([name, condition]) => row(`${type}.${name}`, "compare", { name: condition })),
    row(`${type}.eqz`, "compare with zero"),
  ]);
  return [
    ...SINGLE.map((name) => row(name, name)),
    [0x1c, { rule: "select", name: "typed", wide: false, bytes: 4, signed: false }],
    ...both,
    ...EXTENSIONS.map((name) => {
      const bits = name.endsWith("i32_s") ? 32 : Number(/(\d+)_s$/.exec(name)?.[1]);
      return row(name, "extend", { bytes: bits / 8, signed: true });
    }),
    ...OPCODES.flatMap(([id, name]): [number, Lowering][] => {
      const access = accessOf(id, name);
      return access === undefined ? [] : [[id, access]];
    }),
    ...ATOMICS.map(([name, mnemonic]) => row(name, mnemonic === "" ? "compare exchange" : "exchange", { name: mnemonic })),
    ...VECTORS.map(([name, rule, detail]) => row(name, rule, { name: detail })),
  ];
}

/** Loads and stores of integers, those that are atomic among them. */
function accessOf(id: number, name: string): Lowering | undefined {
  const integer = name.startsWith("i32.") || name.startsWith("i64.");
  if (!integer || (id >= 0x400 && /\d+\.atomic\.\w*(8|16|32)/.test(name))) return undefined;
  const common = { name, wide: name.startsWith("i64"), bytes: ACCESS_BYTES[id], signed: name.endsWith("_s") };
  if (ACCESS_KIND[id] === AccessKind.Load && [I32, I64].includes(RESULT_TYPE[id])) return { rule: "load", ...common };
  if (ACCESS_KIND[id] !== AccessKind.Store) return undefined;
  // An atomic store is an exchange whose result nobody reads: a plain one may be passed by later loads.
  return id >= 0x400 ? { rule: "exchange", ...common, name: "xchg store" } : { rule: "store", ...common };
}
