import { F32, F64, type FuncType, V128, type ValType } from "../../src/code/wasm/index.ts";
import { byBits, losesBits } from "./invoker.ts";
import type { Script, Value } from "./script.ts";

const NAN32 = 0x7fc00000n;
const NAN64 = 0x7ff8000000000000n;

type Call = (...operands: unknown[]) => unknown;

export class Values {
  readonly #literals: Script["literals"];
  readonly #references = new Map<string, object>();
  readonly #invokers = new Map<unknown, Call>();

  readonly #nameOf: (value: unknown) => string | undefined;

  /** @param nameOf name of an instance's function, to distinguish functions */
  constructor(script: Script, nameOf: (value: unknown) => string | undefined) {
    this.#literals = script.literals;
    this.#nameOf = nameOf;
  }

  /** Results as text; throws the function's exception. `expected`: values that define which NaNs may differ. */
  call(
    target: WebAssembly.ExportValue,
    type: FuncType,
    args: readonly Value[],
    expected: readonly Value[],
  ): string {
    const result = this.#callable(target, type)(...args.flatMap((arg) => this.#bits(arg)));
    if (type.results.length === 0) return "";
    return this.#describeAll(Array.isArray(result) ? result : [result], type, expected);
  }

  /** Result of a run that follows the specification; undefined if several results are allowed. */
  expected(values: readonly Value[], type: FuncType): string | undefined {
    if (values.some((value) => value.type === "either" || (value.type === "ref" && value.id === undefined)))
      return undefined;
    return this.#describeAll(
      values.flatMap((value) => this.#bits(value)),
      type,
      values,
    );
  }

  describe(value: unknown): string {
    for (const [id, reference] of this.#references) if (reference === value) return `host ${id}`;
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
    if (value === null) return "null";
    if (typeof value === "function") return this.#nameOf(value) ?? "function";
    return typeof value === "object" ? "object" : String(value);
  }

  #callable(target: WebAssembly.ExportValue, type: FuncType): Call {
    const callable =
      this.#invokers.get(target) ?? (losesBits(type) ? byBits(target, type) : (target as Call));
    this.#invokers.set(target, callable);
    return callable;
  }

  #bits(value: Value): unknown[] {
    switch (value.type) {
      case "i32":
        return [Number(value.value) | 0];
      case "i64":
        return [BigInt.asIntN(64, BigInt(value.value))];
      case "f32":
        return [Number(value.nan === undefined ? this.#literals[value.literal ?? 0] : NAN32) | 0];
      case "f64":
        return [signed(value.nan === undefined ? (this.#literals[value.literal ?? 0] as string) : NAN64)];
      case "v128":
        return [...this.#literals[value.literal]].map((half, i) => signed(withNaNs(BigInt(half), value, i)));
      case "either":
        return this.#bits(value.of[0]);
      default:
        return [value.ref === "null" ? null : this.#reference(value.id ?? value.ref)];
    }
  }

  #reference(id: string): object {
    const reference = this.#references.get(id) ?? {};
    this.#references.set(id, reference);
    return reference;
  }

  /** @param bits values in the form of `byBits` */
  #describeAll(bits: readonly unknown[], { results }: FuncType, expected: readonly Value[]): string {
    let at = 0;
    const describe = (type: ValType, wanted: Value | undefined): string => {
      if (type !== V128) return masked(wanted, type, this.describe(bits[at++]));
      const low = BigInt.asUintN(64, bits[at++] as bigint);
      return describeVector(low | (BigInt.asUintN(64, bits[at++] as bigint) << 64n), wanted);
    };
    return results.map((type, i) => describe(type, expected[i])).join();
  }
}

function signed(bits: bigint | string): bigint {
  return BigInt.asIntN(64, BigInt(bits));
}

/** Half of a vector, with NaNs in the lanes where they are expected. */
function withNaNs(bits: bigint, { nans = [] }: Value & { type: "v128" }, half: number): bigint {
  if (nans.length === 2) return nans[half] === null ? bits : NAN64;
  return nans
    .slice(half * 2, half * 2 + 2)
    .reduce((all, nan, i) => (nan === null ? all : all | (NAN32 << BigInt(32 * i))), bits);
}

/** Masks NaN payloads: the engine may choose any NaN, and another one in code compiled differently. */
function masked(wanted: Value | undefined, type: ValType, bits: string): string {
  if ((wanted?.type !== "f32" && wanted?.type !== "f64") || wanted.nan === undefined) return bits;
  return isNaNOf(type, BigInt(bits.replace("n", ""))) ? "NaN" : bits;
}

function isNaNOf(type: ValType, bits: bigint): boolean {
  if (type === F32) return BigInt.asUintN(31, bits) > 0x7f800000n;
  return type === F64 && BigInt.asUintN(63, bits) > 0x7ff0000000000000n;
}

function describeVector(bits: bigint, wanted: Value | undefined): string {
  const nans = wanted?.type === "v128" ? wanted.nans : undefined;
  if (nans === undefined) return bits.toString(16);
  const [type, width] = nans.length === 4 ? [F32, 32] : [F64, 64];
  return nans
    .map((nan, lane) => {
      const own = BigInt.asUintN(width, bits >> BigInt(lane * width));
      return nan !== null && isNaNOf(type, own) ? "NaN" : own.toString(16);
    })
    .join(" ");
}
