import { type ObjectFile, PltStubs } from "../../../code/objects/index.ts";
import { functionBounds } from "../../../code/unwind/index.ts";
import { FLOW } from "../../../code/x64/decode/index.ts";
import { OTHER } from "../../allocator/find/origin.ts";
import { ROLES } from "../../allocator/find/plan.ts";
import { meaningOfSymbol } from "../../allocator/find/symbol-names.ts";
import { dynamicSymbols } from "../start/dynamic-symbols.ts";
import { decodeFunction, type MachineCall, type MachineSummary } from "./follow-values.ts";

/** Size limit of a layer. A larger function uses the block itself. */
export const MOST_INSTRUCTIONS = 200;
/** Size limit of functions that a layer calls: an object's methods and pools are smaller. */
export const MOST_OF_CALLED = 1000;
/** Most bytes of an instruction. */
const MOST_BYTES = 15;
const COPIES = /^_*(mem(cpy|move|set)|str(n?cpy|n?cat)|wmem(cpy|move|set)|wcs(n?cpy))(_chk)?$/;
const MEASURES = /^(str|strn|wcs)len$/;
const ENDS =
  /^(abort|_?exit|_Exit|quick_exit|v?errx?|pthread_exit|_*(sig)?longjmp(_chk)?|__(assert|assert_perror|stack_chk|chk|fortify)_fail|__cxa_(re)?throw.*|_Unwind_Resume|_ZSt\d+__throw_.*|g_assertion_message.*)$/;
/** Functions of the C library that return a copy of a text. */
const TEXT_COPIES: ReadonlyMap<string, number> = new Map([
  ["strdup", 0b1],
  ["__strdup", 0b1],
  ["wcsdup", 0b1],
  ["strndup", 0b11],
  ["__strndup", 0b11],
]);

type Called = Pick<MachineCall, "target" | "pointer">;

export interface CodeFunction {
  readonly code: ObjectCode;
  readonly start: number;
  readonly instructions: NonNullable<ReturnType<typeof decodeFunction>>;
}

/** Functions of a native object, decoded one by one. */
export class ObjectCode {
  readonly #object: ObjectFile;
  readonly #bounds: ReturnType<typeof functionBounds>;
  readonly #stubs: PltStubs;
  readonly #functions = new Map<number, { decoded: CodeFunction | undefined; most: number }>();
  readonly #names = new Map<number, string | undefined>();
  readonly #ends = new Map<number, boolean>();
  readonly #summaries = new Map<number, MachineSummary>();
  #defined: ReadonlyMap<string, number> | undefined;

  constructor(object: ObjectFile) {
    this.#object = object;
    this.#bounds = functionBounds(object);
    this.#stubs = new PltStubs(object);
  }

  /** Returns the function around an address; undefined if it is unknown or has more than `most` instructions. */
  functionAt(address: number, most = MOST_INSTRUCTIONS): CodeFunction | undefined {
    const bounds = this.#bounds(address);
    if (bounds === undefined) return undefined;
    const known = this.#functions.get(bounds.start);
    if (known !== undefined && (known.decoded !== undefined || known.most >= most)) return known.decoded;
    const isLarge = bounds.end - bounds.start > most * MOST_BYTES;
    const decoded = isLarge ? undefined : this.#decode(bounds, most);
    this.#functions.set(bounds.start, { decoded, most });
    return decoded;
  }

  #decode({ start, end }: { start: number; end: number }, most: number): CodeFunction | undefined {
    const partAt = (from: number, to: number) => ({
      start: from,
      bytes: this.#object.bytesAt(from, to - from),
    });
    const instructions = decodeFunction(partAt(start, end), most, (target) => {
      const cold = this.#stubs.at(target) === undefined ? this.#bounds(target) : undefined;
      return cold && partAt(target, cold.end);
    });
    return instructions && { code: this, start, instructions };
  }

  /** Returns the summary of a function, made once; a function that calls itself returns anything. */
  summaryOf({ start }: CodeFunction, make: () => MachineSummary): MachineSummary {
    let summary = this.#summaries.get(start);
    if (summary === undefined) {
      this.#summaries.set(start, { result: OTHER, kept: 0, sizes: [] });
      summary = make();
      this.#summaries.set(start, summary);
    }
    return summary;
  }

  /** Returns the name of a function that is called through the dynamic linker. */
  nameOf({ target, pointer }: Called): string | undefined {
    if (target === undefined) return pointer === undefined ? undefined : this.#stubs.nameAt(pointer);
    if (!this.#names.has(target)) this.#names.set(target, this.#stubs.at(target)?.target);
    return this.#names.get(target);
  }

  addressOfName(name: string): number | undefined {
    this.#defined ??= dynamicSymbols(this.#object).defined;
    return this.#defined.get(name);
  }

  /** Returns the address of a called function of this object. */
  addressOf(call: Called): number | undefined {
    const name = this.nameOf(call);
    return name === undefined ? call.target : this.addressOfName(name);
  }

  effectOf(call: Called): "copies" | "measures" | "ends" | "other" {
    const name = this.nameOf(call) ?? "";
    if (COPIES.test(name)) return "copies";
    if (MEASURES.test(name)) return "measures";
    const start = ENDS.test(name) ? undefined : this.addressOf(call);
    return ENDS.test(name) || (start !== undefined && this.#neverReturns(start)) ? "ends" : "other";
  }

  #neverReturns(start: number): boolean {
    const known = this.#ends.get(start);
    if (known !== undefined) return known;
    const around = this.functionAt(start);
    const ends =
      around?.start === start &&
      around.instructions.every(({ address, instruction: { flow, length, distance } }) => {
        if (flow === FLOW.return || flow === FLOW.indirectJump) return false;
        const target = address + length + distance;
        return flow !== FLOW.jump || around.instructions.some((step) => step.address === target);
      });
    this.#ends.set(start, ends);
    return ends;
  }
}

/** Returns the operands that decide the size of an allocation function's block; undefined for other names. */
export function allocatedOperands(name: string): { sizes: number; out?: number } | undefined {
  const ofText = TEXT_COPIES.get(name);
  if (ofText !== undefined) return { sizes: ofText };
  const meaning = meaningOfSymbol(name);
  if (meaning?.part !== "entry") return undefined;
  const { sizeParam, countParam } = ROLES[meaning.role].operands;
  const sizes = [sizeParam, countParam].reduce((bits, at) => (at < 0 ? bits : bits | (1 << at)), 0);
  if (sizes === 0) return undefined;
  return meaning.role === "posix_memalign" ? { sizes, out: 0 } : { sizes };
}
