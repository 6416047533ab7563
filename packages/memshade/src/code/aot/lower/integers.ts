import { type Condition, invert, RDX } from "../../x64/index.ts";
import { type Address, constant, fitsInt32, NONE, signedValue, type Value } from "../code.ts";
import type { Lowering } from "../subset.ts";
import { type BodyLowering, type Comparison, type Entry, type Sum, ZERO } from "./body.ts";

const COMMUTATIVE = ["imul", "and", "or", "xor"];
const MOST_SCALED = 3n;
const SWAPPED: Partial<Record<Condition, Condition>> = {
  l: "g",
  g: "l",
  le: "ge",
  ge: "le",
  b: "a",
  a: "b",
  be: "ae",
  ae: "be",
};

export const INTEGER_RULES: Readonly<Record<string, (body: BodyLowering, lowering: Lowering) => void>> = {
  add: ({ stack }, { wide }) => {
    const right = stack.pop();
    const left = stack.pop();
    stack.push(sum(left, right, wide, stack.value.bind(stack)));
  },
  sub: (body, lowering) => {
    const { stack } = body;
    const right = stack.entries.at(-1);
    const minus =
      typeof right === "object" && right.kind === "constant" ? -signedValue(right, lowering.wide) : undefined;
    if (minus === undefined || !fitsInt32(minus)) return arithmetic(body, lowering);
    stack.pop();
    stack.push(sum(stack.pop(), constant(minus), lowering.wide, stack.value.bind(stack)));
  },
  arithmetic,
  shift,
  "shift left": (body, lowering) => {
    const { stack } = body;
    const count = stack.entries.at(-1);
    const by =
      typeof count === "object" && count.kind === "constant" ? count.value & shiftMask(lowering.wide) : 0n;
    if (by === 0n || by > MOST_SCALED) return shift(body, lowering);
    stack.pop();
    const index = stack.popValue();
    stack.push({ kind: "sum", wide: lowering.wide, address: { ...EMPTY, index, scale: scaleOf(by) } });
  },
  divide: ({ stack, builder, options }, { name, wide }) => {
    const right = stack.popPlain();
    const left = stack.popPlain();
    const kills = 1 << RDX.number;
    const effect = options.keepTraps === true;
    stack.push(builder.make("divide", [left, right], { name, wide, kills, late: true, effect }));
  },
  count: ({ stack, builder }, { name, wide }) => {
    stack.push(builder.make("count", [stack.popPlain()], { name, wide }));
  },
  compare: ({ stack }, { name, wide }) => {
    const right = stack.popPlain();
    const left = stack.popPlain();
    const condition = name as Condition;
    const common = { kind: "comparison", comparison: "cmp", wide } as const;
    if (typeof left === "number" || typeof right !== "number")
      stack.push({ ...common, condition, left, right });
    else stack.push({ ...common, condition: SWAPPED[condition] ?? condition, left: right, right: left });
  },
  "compare with zero": ({ stack }, { wide }) => {
    const entry = stack.pop();
    if (typeof entry === "object" && entry.kind === "comparison") stack.push(inverted(entry));
    else {
      const left = stack.plain(entry);
      stack.push({ kind: "comparison", comparison: "cmp", condition: "e", wide, left, right: ZERO });
    }
  },
  extend: ({ stack, builder }, { bytes, wide }) => {
    stack.push(builder.make("load", [stack.popPlain()], { bytes, wide, signed: true }));
  },
  "i32.wrap_i64": ({ stack, builder }) => {
    const entry = stack.pop();
    if (typeof entry === "number") stack.push(builder.make("load", [entry], { bytes: 4 }));
    else if (entry.kind === "constant") stack.push(constant(BigInt.asUintN(32, entry.value)));
    else stack.push({ ...entry, wide: false } as Sum);
  },
  "i64.extend_i32_u": ({ stack }) => {
    const entry = stack.pop();
    const isNumber = typeof entry === "object" && entry.kind === "constant";
    stack.push(isNumber ? constant(BigInt.asUintN(32, entry.value)) : stack.value(entry));
  },
};

const EMPTY: Address = { kind: "address", base: NONE, index: NONE, scale: 1, displacement: 0, linear: false };

export function inverted(entry: Comparison): Comparison {
  return { ...entry, condition: invert(entry.condition) };
}

function arithmetic({ stack, builder }: BodyLowering, { name, wide, bytes }: Lowering): void {
  const right = stack.pop();
  const left = stack.pop();
  const swap = COMMUTATIVE.includes(name) && typeof left === "object" && left.kind === "constant";
  const [a, b] = swap ? [right, left] : [left, right];
  const plain = stack.plain(a);
  const from = [plain, stack.fused(b, bytes)];
  stack.push(builder.make("arithmetic", from, { name, wide }));
}

function shift({ stack, builder }: BodyLowering, { name, wide }: Lowering): void {
  const count = stack.popPlain();
  const left = stack.popPlain();
  stack.push(builder.make("shift", [left, count], { name, wide }));
}

function shiftMask(wide: boolean): bigint {
  return wide ? 63n : 31n;
}

function scaleOf(by: bigint): Address["scale"] {
  return (1 << Number(by)) as Address["scale"];
}

/** Returns the sum of two entries; parts that do not fit into one address become values. */
function sum(left: Entry, right: Entry, wide: boolean, value: (entry: Entry) => Value): Sum {
  const first = addressOf(left, wide, value);
  const second = addressOf(right, wide, value);
  const joined = joinAddresses(first, second, wide);
  if (joined !== undefined) return { kind: "sum", wide, address: joined };
  const base = { ...EMPTY, base: value(settled(left, first, wide)) };
  const address = joinAddresses(base, second, wide) ?? {
    ...base,
    index: value(settled(right, second, wide)),
  };
  return { kind: "sum", wide, address };
}

function settled(entry: Entry, address: Address, wide: boolean): Entry {
  return typeof entry === "number" ? entry : { kind: "sum", wide, address };
}

function addressOf(entry: Entry, wide: boolean, value: (entry: Entry) => Value): Address {
  if (typeof entry === "object") {
    if (entry.kind === "sum" && entry.wide === wide) return entry.address;
    const value = entry.kind === "constant" ? signedValue(entry, wide) : undefined;
    if (value !== undefined && fitsInt32(value)) return { ...EMPTY, displacement: Number(value) };
  }
  return { ...EMPTY, base: value(entry) };
}

function joinAddresses(a: Address, b: Address, wide: boolean): Address | undefined {
  const exact = a.displacement + b.displacement;
  if (wide && !fitsInt32(exact)) return undefined;
  const registers = [a, b].flatMap(({ base }) => (base === NONE ? [] : [base]));
  const scaled = [a, b].filter(({ index }) => index !== NONE);
  if (registers.length + scaled.length > 2 || scaled.length > 1) return undefined;
  const [base = NONE, second = NONE] = registers;
  const { index, scale } = scaled[0] ?? { index: second, scale: 1 };
  return { ...EMPTY, base, index, scale, displacement: exact | 0 };
}
