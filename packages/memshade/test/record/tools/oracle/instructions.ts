// Instructions of the text format that access memory, as far as generated programs use them: names, and bytes accessed.
import type { FloatBytes } from "./model.ts";

export type Type = "i32" | "i64" | "f32" | "f64" | "v128";

export interface Plain {
  name: string;
  size: number;
  type: Type;
  float?: FloatBytes;
  /** Number of a lane, behind the memory argument. */
  lane?: number;
}

const plain = (name: string, size: number, type: Type, float?: FloatBytes): Plain => ({
  name,
  size,
  type,
  float,
});
const lanes = (kind: "load" | "store"): Plain[] =>
  [8, 16, 32, 64].flatMap((bits) =>
    [0, 128 / bits - 1].map((lane) => ({
      name: `v128.${kind}${bits}_lane`,
      size: bits / 8,
      type: "v128" as const,
      lane,
    })),
  );

export const LOADS: readonly Plain[] = [
  plain("i32.load", 4, "i32"),
  plain("i32.load8_s", 1, "i32"),
  plain("i32.load8_u", 1, "i32"),
  plain("i32.load16_s", 2, "i32"),
  plain("i32.load16_u", 2, "i32"),
  plain("i64.load", 8, "i64"),
  plain("i64.load8_u", 1, "i64"),
  plain("i64.load16_s", 2, "i64"),
  plain("i64.load32_u", 4, "i64"),
  plain("f32.load", 4, "f32", 4),
  plain("f64.load", 8, "f64", 8),
  plain("v128.load", 16, "v128"),
  plain("v128.load8x8_s", 8, "v128"),
  plain("v128.load16x4_u", 8, "v128"),
  plain("v128.load32x2_u", 8, "v128"),
  plain("v128.load8_splat", 1, "v128"),
  plain("v128.load16_splat", 2, "v128"),
  plain("v128.load32_splat", 4, "v128"),
  plain("v128.load64_splat", 8, "v128"),
  plain("v128.load32_zero", 4, "v128"),
  plain("v128.load64_zero", 8, "v128"),
  ...lanes("load"),
];

export const STORES: readonly Plain[] = [
  plain("i32.store", 4, "i32"),
  plain("i32.store8", 1, "i32"),
  plain("i32.store16", 2, "i32"),
  plain("i64.store", 8, "i64"),
  plain("i64.store8", 1, "i64"),
  plain("i64.store16", 2, "i64"),
  plain("i64.store32", 4, "i64"),
  plain("f32.store", 4, "f32", 4),
  plain("f64.store", 8, "f64", 8),
  plain("v128.store", 16, "v128"),
  ...lanes("store"),
];

/** Widths of atomic accesses, with the parts of the name between type and operation, and behind the operation. */
const WIDTHS = [
  ["i32", "", "", 4],
  ["i32", "8", "_u", 1],
  ["i32", "16", "_u", 2],
  ["i64", "", "", 8],
  ["i64", "8", "_u", 1],
  ["i64", "16", "_u", 2],
  ["i64", "32", "_u", 4],
] as const;

export const ATOMIC_LOADS: readonly Plain[] = WIDTHS.map(([type, width, sign, size]) =>
  plain(`${type}.atomic.load${width}${sign}`, size, type),
);
export const ATOMIC_STORES: readonly Plain[] = WIDTHS.map(([type, width, , size]) =>
  plain(`${type}.atomic.store${width}`, size, type),
);

export type Update = "add" | "sub" | "and" | "or" | "xor" | "xchg";
const UPDATES: readonly Update[] = ["add", "sub", "and", "or", "xor", "xchg"];

export const RMWS: readonly (Plain & { update: Update })[] = WIDTHS.flatMap(([type, width, sign, size]) =>
  UPDATES.map((update) => ({
    ...plain(`${type}.atomic.rmw${width}.${update}${sign}`, size, type),
    update,
  })),
);
export const CMPXCHGS: readonly Plain[] = WIDTHS.map(([type, width, sign, size]) =>
  plain(`${type}.atomic.rmw${width}.cmpxchg${sign}`, size, type),
);
export const WAITS: readonly Plain[] = [
  plain("memory.atomic.wait32", 4, "i32"),
  plain("memory.atomic.wait64", 8, "i64"),
];

/** Value that a read-modify-write of this number of bytes leaves. */
export function updated(update: Update, old: bigint, operand: bigint, size: number): bigint {
  const results = {
    add: old + operand,
    sub: old - operand,
    and: old & operand,
    or: old | operand,
    xor: old ^ operand,
    xchg: operand,
  };
  return BigInt.asUintN(size * 8, results[update]);
}
