import { MEMARG_HAS_MEMORY } from "../../wasm/memarg.ts";
import { RDI, RDX, RSI } from "../../x64/index.ts";
import {
  type Address,
  constant,
  type Instruction,
  isAddress,
  isConstant,
  NONE,
  type Source,
  type Value,
} from "../code.ts";
import { maskOf } from "../convention.ts";
import type { Lowering } from "../subset.ts";
import type { BodyLowering, CodeBuilder, Rule } from "./body.ts";

const MOVED = maskOf([RDI.number, RSI.number]);
const THIRD = 1 << RDX.number;
const UPDATES = ["add", "sub", "and", "or", "xor"];

export const MEMORY_RULES: Readonly<Record<string, Rule>> = {
  load: (body, { bytes, wide, signed }) => {
    const place = popPlace(body, readMemarg(body));
    const effect = body.options.keepTraps === true;
    body.stack.push(body.builder.make("load", [place], { bytes, wide, signed, effect }));
  },
  store: (body, { bytes }) => {
    const offset = readMemarg(body);
    const value = body.stack.popPlain();
    store(body.builder, popPlace(body, offset), value, bytes, body.stack.locals);
  },
  "atomic store": (body, lowering) => {
    MEMORY_RULES.exchange(body, { ...lowering, name: "xchg" });
    body.stack.pop();
  },
  exchange: (body, { bytes, wide, name }) => {
    const offset = readMemarg(body);
    const { stack, builder } = body;
    const value = stack.popPlain();
    const from = [popPlace(body, offset), value];
    stack.push(builder.make("exchange", from, { name, bytes, wide, effect: true }));
  },
  "compare exchange": (body, { bytes, wide }) => {
    const offset = readMemarg(body);
    const { stack, builder } = body;
    const replacement = stack.popPlain();
    const expected = stack.popPlain();
    const from = [popPlace(body, offset), expected, replacement];
    stack.push(
      builder.make("compare exchange", from, { bytes, wide, kills: THIRD, late: true, effect: true }),
    );
  },
  "atomic.fence": ({ builder, reader }) => {
    reader.u8();
    builder.add("fence", NONE, []);
  },
  "memory.fill": (body) => bulk(body, "fill", 1),
  "memory.copy": (body) => bulk(body, "copy", 2),
};

function bulk(body: BodyLowering, op: "fill" | "copy", memories: number): void {
  const { stack, builder, reader } = body;
  for (let i = 0; i < memories; i++)
    if (reader.u32Leb() !== 0) throw body.unsupported("it has several memories");
  const length = stack.popPlain();
  const source = stack.popPlain();
  const destination = stack.popPlain();
  builder.add(op, NONE, [destination, source, length], { kills: MOVED });
}

function readMemarg(body: BodyLowering): number {
  const { reader } = body;
  if ((reader.u32Leb() & MEMARG_HAS_MEMORY) !== 0) throw body.unsupported("it has several memories");
  return Number(reader.u64Leb());
}

/**
 * Pops the address of a place in linear memory. The address wraps at 2^32. The offset is
 * added afterwards and does not wrap.
 */
function popPlace({ stack }: BodyLowering, offset: number): Address {
  const at = stack.popPlain();
  const common = { kind: "address", index: NONE, scale: 1, linear: true } as const;
  if (typeof at === "number") return { ...common, base: at, displacement: offset };
  return { ...common, base: NONE, displacement: Number(BigInt.asUintN(32, at.value)) + offset };
}

/**
 * Appends a store. If the value was just computed from the content of the same place, an instruction that updates
 * the place replaces the computation.
 */
export function store(
  builder: CodeBuilder,
  place: Address,
  value: Source,
  bytes: number,
  locals: number,
): void {
  const computed = builder.last;
  const parts =
    computed !== undefined && isTemporary(computed, value, locals) ? partsOf(computed, bytes) : undefined;
  for (const { name, left, right } of parts ?? []) {
    if (isAddress(left) && isSamePlace(left, place)) {
      builder.takeLast();
      builder.add("update", NONE, [place, right], { name, bytes });
      return;
    }
    if (!isAddress(right) && takeLoad(builder, 2, left, place, bytes, locals)) {
      builder.add("update", NONE, [place, right], { name, bytes });
      return;
    }
  }
  builder.add("store", NONE, [place, value], { bytes });
}

/** Ways to read an instruction as `left name right`, if it computes with `bytes`. */
function partsOf(computed: Instruction, bytes: number): { name: string; left: Source; right: Source }[] {
  const { op, name, from, wide } = computed;
  if ((wide ? 8 : 4) !== bytes) return [];
  if (op === "arithmetic" && UPDATES.includes(name)) {
    const [left, right] = from;
    return name === "sub"
      ? [{ name, left, right }]
      : [
          { name, left, right },
          { name, left: right, right: left },
        ];
  }
  if (op !== "lea" || !isAddress(from[0])) return [];
  const { base, index, scale, displacement } = from[0];
  if (index === NONE && base !== NONE) return [{ name: "add", left: base, right: constant(displacement) }];
  if (base === NONE || scale !== 1 || displacement !== 0) return [];
  return [
    { name: "add", left: base, right: index },
    { name: "add", left: index, right: base },
  ];
}

/**
 * Removes the last `count` instructions if the first of them loads `value` from the place and nothing else uses it.
 */
function takeLoad(
  builder: CodeBuilder,
  count: number,
  value: Source,
  place: Address,
  bytes: number,
  locals: number,
): boolean {
  const { instructions } = builder.code;
  const loaded = instructions.at(-count);
  if (loaded === undefined || loaded.op !== "load" || !isTemporary(loaded, value, locals)) return false;
  if (loaded.bytes !== bytes || !isAddress(loaded.from[0]) || !isSamePlace(loaded.from[0], place))
    return false;
  instructions.length -= count;
  return true;
}

function isTemporary({ to }: Instruction, value: Source, locals: number): boolean {
  return to === value && !isConstant(value) && to >= locals;
}

function isSamePlace(a: Address, b: Address): boolean {
  if (a.base !== b.base || a.index !== b.index || a.scale !== b.scale) return false;
  return a.displacement === b.displacement && a.linear === b.linear;
}

const LANES = 16;
const ONES = new Uint8Array(LANES).fill(0xff);
const ZEROS = new Uint8Array(LANES);
/** Mask byte of `pshufb` that clears the byte. */
const NO_BYTE = 0x80;

/** Rules for vector instructions. Instructions that x86-64 lacks are composed of several. */
export const VECTOR_RULES: Readonly<Record<string, Rule>> = {
  vector: (body, { name }) => {
    const right = body.stack.popValue();
    body.stack.push(binary(body, name, body.stack.popValue(), right));
  },
  swapped: (body, { name }) => {
    const right = body.stack.popValue();
    body.stack.push(binary(body, name, right, body.stack.popValue()));
  },
  "not equal": (body, lowering) => {
    VECTOR_RULES.vector(body, lowering);
    body.stack.push(not(body, body.stack.popValue()));
  },
  "unsigned at most": (body, { name }) => {
    const [least, equal] = name.split(" ");
    const right = body.stack.popValue();
    const left = body.stack.popValue();
    body.stack.push(binary(body, equal, binary(body, least, left, right), left));
  },
  "unsigned greater": (body, lowering) => {
    VECTOR_RULES["unsigned at most"](body, lowering);
    body.stack.push(not(body, body.stack.popValue()));
  },
  "vector not": (body) => body.stack.push(not(body, body.stack.popValue())),
  "vector and not": (body) => {
    const right = body.stack.popValue();
    body.stack.push(binary(body, "pandn", right, body.stack.popValue()));
  },
  "bit select": (body) => {
    const { stack } = body;
    const [mask, otherwise, chosen] = [stack.popValue(), stack.popValue(), stack.popValue()];
    stack.push(
      binary(body, "por", binary(body, "pand", chosen, mask), binary(body, "pandn", mask, otherwise)),
    );
  },
  "any true": ({ stack }) => pushTest(stack.popValue(), "ne", stack),
  "all true": (body, { name }) => {
    const zeros = binary(body, name, constantOf(body, ZEROS), body.stack.popValue());
    pushTest(zeros, "e", body.stack);
  },
  "bit mask": ({ stack, builder }, { name }) =>
    stack.push(builder.make("signs", [stack.popValue()], { name })),
  negate: (body, { name }) => {
    const value = body.stack.popValue();
    body.stack.push(binary(body, name, constantOf(body, ZEROS), value));
  },
  "shift lanes": (body, { name }) => {
    const { stack, builder } = body;
    const count = stack.popPlain();
    const left = stack.popValue();
    const bits = LANE_BITS[name.at(-1) as string];
    if (typeof count === "object") {
      const number = Number(count.value & BigInt(bits - 1));
      stack.push(builder.make("vector with number", [left], { name, number, bytes: 1 }, true));
      return;
    }
    const mask = { kind: "constant", value: BigInt(bits - 1) } as const;
    const masked = builder.make("arithmetic", [count, mask], { name: "and" });
    stack.push(binary(body, name, left, builder.make("to vector", [masked], { bytes: 4 }, true)));
  },
  "add pairs": (body, { name }) => {
    const [bits, shift, add] = name.split(" ");
    const { builder, stack } = body;
    const value = stack.popValue();
    const high = builder.make(
      "vector with number",
      [value],
      { name: shift, number: Number(bits), bytes: 1 },
      true,
    );
    const half = Number(bits) / 8;
    const lows = Uint8Array.from({ length: LANES }, (_, i) => (i % (2 * half) < half ? 0xff : 0));
    stack.push(binary(body, add, high, binary(body, "pand", value, constantOf(body, lows))));
  },
  shuffle: (body) => {
    const { reader, stack } = body;
    const lanes = [...reader.view(LANES)];
    const right = stack.popValue();
    const left = stack.popValue();
    const selectLanes = (value: Value, from: number) => {
      const mask = lanes.map((lane) => (lane >= from && lane < from + LANES ? lane - from : NO_BYTE));
      return binary(body, "pshufb", value, constantOf(body, Uint8Array.from(mask)));
    };
    stack.push(binary(body, "por", selectLanes(left, 0), selectLanes(right, LANES)));
  },
  splat: (body, { name }) => splat(body, Number(name)),
  "load splat": (body, { name }) => {
    const bytes = Number(name);
    const place = popPlace(body, readMemarg(body));
    body.stack.push(
      body.builder.make("load", [place], { bytes, wide: bytes === 8, effect: keepsTraps(body) }),
    );
    splat(body, bytes);
  },
  "load zero": (body, { name }) => load(body, Number(name)),
  "v128.load": (body) => load(body, LANES),
  "v128.store": (body) => {
    const offset = readMemarg(body);
    const value = body.stack.popValue();
    body.builder.add("vector store", NONE, [popPlace(body, offset), value], { bytes: LANES });
  },
  "v128.const": (body) => body.stack.push(constantOf(body, body.reader.view(LANES).slice())),
  "load lane": (body, { name }) => {
    const { builder, stack, reader } = body;
    const bytes = Number(name);
    const offset = readMemarg(body);
    const number = reader.u8();
    const vector = stack.popValue();
    const part = builder.make("load", [popPlace(body, offset)], {
      bytes,
      wide: bytes === 8,
      effect: keepsTraps(body),
    });
    stack.push(builder.make("insert", [vector, part], { bytes, number }, true));
  },
  "store lane": (body, { name }) => {
    const { builder, stack, reader } = body;
    const bytes = Number(name);
    const offset = readMemarg(body);
    const part = builder.make("extract", [stack.popValue()], {
      bytes,
      number: reader.u8(),
      wide: bytes === 8,
    });
    builder.add("store", NONE, [popPlace(body, offset), part], { bytes });
  },
  extract: (body, { name }) => {
    const { builder, stack, reader } = body;
    const bytes = Number(name);
    stack.push(
      builder.make("extract", [stack.popValue()], { bytes, number: reader.u8(), wide: bytes === 8 }),
    );
  },
  "extract signed": (body, lowering) => {
    VECTOR_RULES.extract(body, lowering);
    const { builder, stack } = body;
    stack.push(builder.make("load", [stack.popValue()], { bytes: Number(lowering.name), signed: true }));
  },
  replace: ({ builder, stack, reader }, { name }) => {
    const part = stack.popValue();
    const from = [stack.popValue(), part];
    stack.push(builder.make("insert", from, { bytes: Number(name), number: reader.u8() }, true));
  },
};

const LANE_BITS: Readonly<Record<string, number>> = { w: 16, d: 32, q: 64 };

function keepsTraps(body: BodyLowering): boolean {
  return body.options.keepTraps === true;
}

function binary({ builder }: BodyLowering, name: Lowering["name"], left: Value, right: Value): Value {
  return builder.make("vector", [left, right], { name }, true);
}

function constantOf({ builder }: BodyLowering, content: Uint8Array): Value {
  return builder.make("vector constant", [], { content }, true);
}

function not(body: BodyLowering, value: Value): Value {
  return binary(body, "pxor", value, constantOf(body, ONES));
}

function pushTest(value: Value, condition: "e" | "ne", stack: BodyLowering["stack"]): void {
  stack.push({ kind: "comparison", comparison: "ptest", condition, wide: false, left: value, right: value });
}

function load(body: BodyLowering, bytes: number): void {
  const place = popPlace(body, readMemarg(body));
  body.stack.push(body.builder.make("vector load", [place], { bytes, effect: keepsTraps(body) }, true));
}

function splat(body: BodyLowering, bytes: number): void {
  const { builder, stack } = body;
  const part = builder.make("to vector", [stack.popValue()], { bytes: bytes === 8 ? 8 : 4 }, true);
  const repeated = (value: Value, name: string) =>
    builder.make("vector with number", [value], { name, number: 0, bytes: 0 }, true);
  if (bytes === 8) stack.push(binary(body, "punpcklqdq", part, part));
  else if (bytes === 4) stack.push(repeated(part, "pshufd"));
  else if (bytes === 2) stack.push(repeated(repeated(part, "pshuflw"), "pshufd"));
  else stack.push(binary(body, "pshufb", part, constantOf(body, ZEROS)));
}
