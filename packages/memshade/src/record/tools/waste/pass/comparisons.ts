import {
  IMMEDIATE_KIND,
  ImmediateKind,
  type OpcodeName,
  opcodeId,
  type ValType,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";

/** How a store's operand is compared with what is there: the load that gets it, and the rest. */
interface Comparison {
  load: number;
  /** Between the two operands and the condition. */
  steps: readonly number[];
  /** Bits that count, for stores of a part of their operand. */
  mask?: number;
  isWide: boolean;
}

const COMPARISONS = new Map<number, Comparison>();
function compare(store: OpcodeName, load: OpcodeName, steps: readonly OpcodeName[], mask?: number): void {
  COMPARISONS.set(opcodeId(store), {
    load: opcodeId(load),
    steps: steps.map(opcodeId),
    isWide: steps[0] === "i64.xor",
    ...(mask === undefined ? {} : { mask }),
  });
}
compare("i32.store", "i32.load", ["i32.eq"]);
compare("i64.store", "i64.load", ["i64.eq"]);
compare("f32.store", "i32.load", ["i32.reinterpret_f32", "i32.eq"]);
compare("f64.store", "i64.load", ["i64.reinterpret_f64", "i64.eq"]);
compare("i32.store8", "i32.load8_u", ["i32.xor"], 0xff);
compare("i32.store16", "i32.load16_u", ["i32.xor"], 0xffff);
compare("i64.store8", "i64.load8_u", ["i64.xor"], 0xff);
compare("i64.store16", "i64.load16_u", ["i64.xor"], 0xffff);
compare("i64.store32", "i64.load32_u", ["i64.xor"], 0xffffffff);
compare("v128.store", "v128.load", ["i64x2.eq", "i64x2.all_true"]);
compare("v128.store8_lane", "i32.load8_u", ["i8x16.extract_lane_u", "i32.eq"]);
compare("v128.store16_lane", "i32.load16_u", ["i16x8.extract_lane_u", "i32.eq"]);
compare("v128.store32_lane", "i32.load", ["i32x4.extract_lane", "i32.eq"]);
compare("v128.store64_lane", "i64.load", ["i64x2.extract_lane", "i64.eq"]);

/** Whether a store can be followed inline. */
export function hasComparison(op: number): boolean {
  return COMPARISONS.has(op);
}

/** The load that gets what a store is about to replace. */
export function loadBefore(store: number): number {
  return (COMPARISONS.get(store) as Comparison).load;
}

/** With what is there and the operand on the stack: whether the store (of lane `lane` of a vector) changes nothing. */
export function writeComparison(sink: SnippetSink, store: number, lane: number): void {
  const { steps, mask, isWide } = COMPARISONS.get(store) as Comparison;
  for (const step of steps)
    if (IMMEDIATE_KIND[step] === ImmediateKind.Lane) sink.lane(step, lane);
    else if (step < 0x100) sink.plain(step);
    else sink.prefixed(step);
  if (mask === undefined) return;
  if (isWide) sink.i64(BigInt(mask));
  else sink.i32(mask);
  sink.plain(isWide ? Op.I64_AND : Op.I32_AND);
  sink.plain(isWide ? Op.I64_EQZ : Op.I32_EQZ);
}

const VALUE_TYPES: Readonly<Record<string, ValType>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
};

export function valueTypeOfStore(name: string): ValType {
  return VALUE_TYPES[name.slice(0, name.indexOf("."))];
}
