import { NONE, type Value } from "../code.ts";
import type { Lowering } from "../subset.ts";
import type { BodyLowering, Rule } from "./body.ts";
import { popPlace, readMemarg } from "./memory.ts";

const LANES = 16;
const ONES = new Uint8Array(LANES).fill(0xff);
const ZEROS = new Uint8Array(LANES);
/** In a mask of `pshufb`: the byte becomes 0. */
const NO_BYTE = 0x80;

/** Rules for vector instructions. Those that x86-64 lacks are put together of several. */
export const VECTOR_RULES: Readonly<Record<string, Rule>> = {
  vector: (body, { name }) => {
    const right = body.stack.popValue();
    body.stack.push(binary(body, name, body.stack.popValue(), right));
  },
  swapped: (body, { name }) => {
    const right = body.stack.popValue();
    body.stack.push(binary(body, name, right, body.stack.popValue()));
  },
  "not equal": (body, how) => {
    VECTOR_RULES.vector(body, how);
    body.stack.push(not(body, body.stack.popValue()));
  },
  "unsigned at most": (body, { name }) => {
    const [least, equal] = name.split(" ");
    const right = body.stack.popValue();
    const left = body.stack.popValue();
    body.stack.push(binary(body, equal, binary(body, least, left, right), left));
  },
  "unsigned greater": (body, how) => {
    VECTOR_RULES["unsigned at most"](body, how);
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
    // No lane is equal to 0.
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
    const of = (value: Value, from: number) => {
      const mask = lanes.map((lane) => (lane >= from && lane < from + LANES ? lane - from : NO_BYTE));
      return binary(body, "pshufb", value, constantOf(body, Uint8Array.from(mask)));
    };
    stack.push(binary(body, "por", of(left, 0), of(right, LANES)));
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
  "extract signed": (body, how) => {
    VECTOR_RULES.extract(body, how);
    const { builder, stack } = body;
    stack.push(builder.make("load", [stack.popValue()], { bytes: Number(how.name), signed: true }));
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

/** Replaces the integer on the stack by a vector with it in every lane. */
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
