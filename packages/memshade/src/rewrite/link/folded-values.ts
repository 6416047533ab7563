import { type OpcodeName, opcodeId } from "../../wasm/index.ts";

type Value = number | bigint;

/** i32 values are numbers from −2^31 to 2^31 − 1, i64 values bigints from −2^63 to 2^63 − 1. */
const UNARY = byOpcode<(value: never) => Value>({
  "i32.eqz": (value: number) => Number(value === 0),
  "i64.eqz": (value: bigint) => Number(value === 0n),
  "i32.wrap_i64": (value: bigint) => Number(BigInt.asIntN(32, value)),
  "i64.extend_i32_s": (value: number) => BigInt(value),
  "i64.extend_i32_u": (value: number) => BigInt(value >>> 0),
});

const BINARY = byOpcode<(left: never, right: never) => Value>({
  "i32.add": (a: number, b: number) => (a + b) | 0,
  "i32.sub": (a: number, b: number) => (a - b) | 0,
  "i32.mul": (a: number, b: number) => Math.imul(a, b),
  "i32.and": (a: number, b: number) => a & b,
  "i32.or": (a: number, b: number) => a | b,
  "i32.xor": (a: number, b: number) => a ^ b,
  "i32.shl": (a: number, b: number) => a << b,
  "i32.shr_s": (a: number, b: number) => a >> b,
  "i32.shr_u": (a: number, b: number) => (a >>> b) | 0,
  "i32.eq": (a: number, b: number) => Number(a === b),
  "i32.ne": (a: number, b: number) => Number(a !== b),
  "i32.lt_s": (a: number, b: number) => Number(a < b),
  "i32.lt_u": (a: number, b: number) => Number(a >>> 0 < b >>> 0),
  "i32.gt_s": (a: number, b: number) => Number(a > b),
  "i32.gt_u": (a: number, b: number) => Number(a >>> 0 > b >>> 0),
  "i32.le_s": (a: number, b: number) => Number(a <= b),
  "i32.le_u": (a: number, b: number) => Number(a >>> 0 <= b >>> 0),
  "i32.ge_s": (a: number, b: number) => Number(a >= b),
  "i32.ge_u": (a: number, b: number) => Number(a >>> 0 >= b >>> 0),
  "i64.add": (a: bigint, b: bigint) => BigInt.asIntN(64, a + b),
  "i64.sub": (a: bigint, b: bigint) => BigInt.asIntN(64, a - b),
  "i64.mul": (a: bigint, b: bigint) => BigInt.asIntN(64, a * b),
  "i64.and": (a: bigint, b: bigint) => a & b,
  "i64.or": (a: bigint, b: bigint) => a | b,
  "i64.xor": (a: bigint, b: bigint) => a ^ b,
  "i64.shl": (a: bigint, b: bigint) => BigInt.asIntN(64, a << (b & 63n)),
  "i64.shr_u": (a: bigint, b: bigint) => BigInt.asIntN(64, BigInt.asUintN(64, a) >> (b & 63n)),
  "i64.eq": (a: bigint, b: bigint) => Number(a === b),
  "i64.ne": (a: bigint, b: bigint) => Number(a !== b),
});

/** Instructions that leave their left operand as it is where the right one is zero. */
const ZERO_IS_NEUTRAL = new Set(
  [
    "i32.add",
    "i32.sub",
    "i32.or",
    "i32.xor",
    "i32.shl",
    "i32.shr_s",
    "i32.shr_u",
    "i64.add",
    "i64.sub",
    "i64.or",
    "i64.xor",
    "i64.shl",
    "i64.shr_s",
    "i64.shr_u",
  ].map((name) => opcodeId(name as OpcodeName)),
);

function byOpcode<F>(functions: Partial<Record<OpcodeName, F>>): ReadonlyMap<number, F> {
  return new Map(Object.entries(functions).map(([name, f]) => [opcodeId(name as OpcodeName), f as F]));
}

/** What an instruction with one operand leaves on the stack; undefined: it is none that is known here. */
export function foldedUnary(op: number, value: Value): Value | undefined {
  return UNARY.get(op)?.(value as never);
}

export function foldedBinary(op: number, left: Value, right: Value): Value | undefined {
  return BINARY.get(op)?.(left as never, right as never);
}

/** Whether an instruction with two operands leaves the left one as it is, for the right one is this. */
export function isNeutralRight(op: number, right: Value): boolean {
  return (right === 0 || right === 0n) && ZERO_IS_NEUTRAL.has(op);
}
