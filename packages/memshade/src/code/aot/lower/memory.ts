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
} from "../code.ts";
import { maskOf } from "../convention.ts";
import type { BodyLowering, CodeBuilder, Rule } from "./body.ts";

const MOVED = maskOf([RDI.number, RSI.number]);
const THIRD = 1 << RDX.number;
/** What x86-64 does to a place in one instruction. */
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
  "atomic store": (body, how) => {
    MEMORY_RULES.exchange(body, { ...how, name: "xchg" });
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

/** Reads the memory indices that follow, which are all 0. */
function bulk(body: BodyLowering, op: "fill" | "copy", memories: number): void {
  const { stack, builder, reader } = body;
  for (let i = 0; i < memories; i++)
    if (reader.u32Leb() !== 0) throw body.unsupported("it has several memories");
  const length = stack.popPlain();
  const source = stack.popPlain();
  const destination = stack.popPlain();
  builder.add(op, NONE, [destination, source, length], { kills: MOVED });
}

/** The offset of an access. */
export function readMemarg(body: BodyLowering): number {
  const { reader } = body;
  if ((reader.u32Leb() & MEMARG_HAS_MEMORY) !== 0) throw body.unsupported("it has several memories");
  return Number(reader.u64Leb());
}

/**
 * The place in linear memory whose address stands on the stack. The address wraps at 2^32, and is therefore made before the offset
 * is added, which does not.
 */
export function popPlace({ stack }: BodyLowering, offset: number): Address {
  const at = stack.popPlain();
  const common = { kind: "address", index: NONE, scale: 1, linear: true } as const;
  if (typeof at === "number") return { ...common, base: at, displacement: offset };
  return { ...common, base: NONE, displacement: Number(BigInt.asUintN(32, at.value)) + offset };
}

/**
 * Appends a store. Where the value was computed right before from what the same place had, and the place can be computed with in one
 * instruction, that is what is appended.
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

/** The ways to see an instruction as `left name right`, where it computes with `bytes`. */
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

/** Takes the last `count` instructions away if the first of them loads `value` from the place, for nobody else. */
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
