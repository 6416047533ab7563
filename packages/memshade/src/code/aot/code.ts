import type { Condition } from "../x64/index.ts";

/** Virtual register: a number in a function. A register with an i32 has zeros in its upper half. */
export type Value = number;

export const NONE: Value = -1;

/** Number as a register holds it: an i64 is signed, an i32 unsigned. */
export interface Constant {
  readonly kind: "constant";
  readonly value: bigint;
}

/**
 * Address: base + index · scale + displacement. A `linear` address is relative to linear memory, and its
 * displacement is below 2^33. Other displacements are signed and have 32 bits.
 */
export interface Address {
  readonly kind: "address";
  readonly base: Value;
  readonly index: Value;
  readonly scale: 1 | 2 | 4 | 8;
  readonly displacement: number;
  readonly linear: boolean;
}

export type Source = Value | Constant | Address;

/** Instructions between wasm and x86-64; `emit/` translates them. `from` lists their operands. */
export type Operation =
  | "move"
  | "lea"
  | "arithmetic"
  | "shift"
  // `signed`, `remainder` by name: div_s, div_u, rem_s, rem_u
  | "divide"
  // name: clz, ctz, popcnt
  | "count"
  // to ← `bytes` of a value or a place, extended
  | "load"
  | "store"
  // place ← place `name` a
  | "update"
  // to ← whether a `condition` b; x or y; jump to `label`
  | "compare"
  | "select"
  | "branch"
  | "jump"
  | "label"
  // jump to one of `labels`, the last one where a is too large
  | "table"
  | "call"
  | "tail call"
  // to the function at address a, with b as its argument
  | "jump out"
  | "return"
  | "trap"
  // destination, value, length; destination, source, length
  | "fill"
  | "copy"
  // place, value; name: lock xadd, xchg
  | "exchange"
  | "compare exchange"
  | "fence"
  // `name` is the C function; the number of a system call; what of the frame or the image
  | "call C"
  | "system call"
  | "thread load"
  | "thread store"
  | "frame"
  | "image address"
  // Vectors. to ← a `name` b; to ← `name` a, lane; to ← the bytes of `content`
  | "vector"
  | "vector with number"
  | "vector constant"
  | "vector load"
  | "vector store"
  // to ← a with lane `number` of `bytes` from b; to ← lane; to ← mask of signs; to ← a in lane 0
  | "insert"
  | "extract"
  | "signs"
  | "to vector"
  | "from vector";

export interface Instruction {
  op: Operation;
  to: Value;
  from: readonly Source[];
  /** 64 bits */
  wide: boolean;
  depth: number;
  name: string;
  comparison: "cmp" | "test" | "ptest";
  condition: Condition;
  bytes: number;
  signed: boolean;
  label: number;
  labels: readonly number[];
  number: number;
  content: Uint8Array | undefined;
  /** True if the instruction must stay even if `to` is never read. */
  effect: boolean;
  /** Overwritten general registers, one bit each, and a flag for all vector registers. */
  kills: number;
  killsVectors: boolean;
  /** Operands are read after registers are overwritten. */
  late: boolean;
}

export interface FunctionCode {
  index: number;
  exported: boolean;
  instructions: Instruction[];
  vector: boolean[];
  parameters: readonly Value[];
  /** true for each parameter of 64 bits or more */
  wideParameters: readonly boolean[];
  labels: number;
}

export function constant(value: bigint | number): Constant {
  return { kind: "constant", value: BigInt(value) };
}

/** Returns a constant as a signed number of 64 or 32 bits. */
export function signedValue({ value }: Constant, wide: boolean): bigint {
  return BigInt.asIntN(wide ? 64 : 32, value);
}

export function isConstant(source: Source): source is Constant {
  return typeof source === "object" && source.kind === "constant";
}

export function isAddress(source: Source): source is Address {
  return typeof source === "object" && source.kind === "address";
}

export function valuesOf(source: Source): readonly Value[] {
  if (typeof source === "number") return source === NONE ? [] : [source];
  if (source.kind === "constant") return [];
  if (source.base === NONE) return source.index === NONE ? [] : [source.index];
  return source.index === NONE ? [source.base] : [source.base, source.index];
}

export function fitsInt32(value: bigint | number): boolean {
  return value >= -(2 ** 31) && value < 2 ** 31;
}
