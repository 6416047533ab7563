import {
  ADDRESS_ONLY,
  decode,
  FLOW,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  READ,
  SEGMENT,
  WRITE,
} from "../../../../code/x64/decode/index.ts";
import { GENERAL, RSP } from "../../../../code/x64/index.ts";
import type { Place } from "../../../../code/x64/operands.ts";
import { type Code, TRAIT } from "../../rewrite/code.ts";
import { FrameBases } from "../../rewrite/insertion/frame-bases.ts";
import { giveMaskedMovePlace, isStringInstruction } from "../../rewrite/insertion/string-instructions.ts";
import { type BlockView, type Insertion, inOrder } from "../../rewrite/plan.ts";
import { countDown } from "./access-clock.ts";
import { LINE_SHIFT } from "./layout.ts";
import { DISTANCE_AT, markLines, markPlaces, type Planes, renamed } from "./mark-code.ts";
import { cheapestPlace, type ScratchCode, withFlags, withScratch } from "./scratch-registers.ts";
import { markStrings } from "./string-marks.ts";
import { TouchedSpans } from "./touched-spans.ts";

const LINE_BYTES = 2 ** LINE_SHIFT;
/** Addresses that instructions of programs can name that lie where their files say. */
const LOW_ADDRESSES = 2 ** 31;
const REGISTERS = 16;
const EXCHANGE = [0x86, 0x87];

/**
 * Marks the lines of accesses. Left out are the function's own part of the stack, which is reached by rsp, or by rbp where that is the
 * frame pointer; what a segment or a vector of indices is part of the address of; and what `push`, `pop` and calls do. What one
 * block has marked is not marked again in the next one, if control comes there from that one alone.
 */
export class MarkPlanner {
  readonly #frames = new FrameBases();
  readonly #instruction = new Instruction();
  /** Where each register was written last, plus one. */
  readonly #written = new Int32Array(REGISTERS);
  readonly #isCounting: boolean;
  #view!: BlockView;
  #insertions: Insertion[] = [];
  /** Those of the block. */
  #accesses = 0;
  /** By the registers; those of earlier blocks, too. */
  #open = new Map<string, TouchedSpans[]>();
  /** How lines of static data are touched, by their number: in this block, and in those before that lead here. */
  #statics = new Map<number, Planes>();
  readonly #markedStatics = new Map<number, Planes>();

  /** @param isCounting accesses are counted too */
  constructor(isCounting: boolean) {
    this.#isCounting = isCounting;
  }

  /** What a block needs, in the order of its instructions. Blocks come in the order of the code. */
  plan(view: BlockView): readonly Insertion[] {
    const { code, first, last } = view;
    if (!this.#goesOn(view)) {
      this.#open.clear();
      this.#markedStatics.clear();
    }
    this.#view = view;
    this.#insertions = [];
    this.#accesses = 0;
    this.#written.fill(first);
    for (let i = first; i < last; i++) this.#look(code, i);
    for (const all of this.#open.values()) for (const spans of all) this.#close(spans);
    this.#markStatics();
    if (this.#isCounting && this.#accesses > 0) this.#count();
    return inOrder(this.#insertions);
  }

  /** Whether control comes from the block that was looked at last, and from nowhere else. */
  #goesOn({ code, first }: BlockView): boolean {
    const before = this.#view;
    if (before?.code !== code || before.last !== first) return false;
    const flow = code.flows[first - 1];
    return flow === FLOW.branch && (code.traits[first] & (TRAIT.leader | TRAIT.label)) === 0;
  }

  #look(code: Code, i: number): void {
    const isString = isStringInstruction(code, i);
    const isQuiet = (code.traits[i] & TRAIT.access) === 0 && !isString;
    if (isQuiet && this.#open.size === 0) {
      // What it writes is not looked at.
      this.#written.fill(i + 1);
      return;
    }
    const instruction = this.#instruction;
    decode(code.bytes, code.offsets[i], instruction);
    giveMaskedMovePlace(instruction);
    const isMarked = isString || this.#isMarked(code, i);
    if (isString) this.#insertions.push(...markStrings(instruction, i));
    else if (isMarked) this.#touch(code, i);
    if (isMarked) this.#accesses += accessesOf(instruction);
    const { writes } = instruction;
    for (const [key, all] of this.#open)
      if ((all[0].uses & writes) !== 0) {
        for (const spans of all) this.#close(spans);
        this.#open.delete(key);
      }
    for (let register = 0; register < REGISTERS; register++)
      if ((writes & (1 << register)) !== 0) this.#written[register] = i + 1;
  }

  #isMarked(code: Code, i: number): boolean {
    const { access, segment, vectorIndex, base, index, displacement } = this.#instruction;
    if (access === 0 || (access & ADDRESS_ONLY) !== 0 || segment !== SEGMENT.none || vectorIndex)
      return false;
    if (base === RSP.number || this.#frames.isFrameBase(code, i, base)) return false;
    const hasRegister = base !== NO_REGISTER || index !== NO_REGISTER;
    return hasRegister || (displacement > 0 && displacement < LOW_ADDRESSES);
  }

  #touch(code: Code, i: number): void {
    const { access, base, index, scale, displacement, size, shortAddress, length } = this.#instruction;
    const bytes = Math.max(size, 1);
    if (base === INSTRUCTION_POINTER || (base === NO_REGISTER && index === NO_REGISTER)) {
      const from = base === NO_REGISTER ? 0 : code.base + code.offsets[i] + length;
      for (const line of linesOf(from + displacement, bytes))
        this.#statics.set(line, (this.#statics.get(line) ?? 0) | access);
      return;
    }
    const key = `${base} ${index} ${scale} ${shortAddress}`;
    const all = this.#open.get(key) ?? [];
    if (all.some((spans) => spans.add(i, displacement, bytes, access))) return;
    const spans = this.#spansHere();
    spans.add(i, displacement, bytes, access);
    all.push(spans);
    this.#open.set(key, all);
  }

  #spansHere(): TouchedSpans {
    const { base, index, scale, shortAddress: isShort } = this.#instruction;
    const register = (number: number) => (number === NO_REGISTER ? undefined : GENERAL[number]);
    const mask = (number: number) => (number === NO_REGISTER ? 0 : 1 << number);
    const written = (number: number) => (number === NO_REGISTER ? 0 : this.#written[number]);
    return new TouchedSpans(
      { base: register(base), index: register(index), scale: scale as Place["scale"], isShort },
      mask(base) | mask(index),
      Math.max(written(base), written(index), this.#view.first),
    );
  }

  #close(spans: TouchedSpans): void {
    if (spans.isMarked) return;
    spans.isMarked = true;
    const marks = spans.marks();
    this.#insert(spans.from, spans.to, spans.uses, (register, holderOf) =>
      markPlaces(renamed(spans.registers, holderOf), marks, register),
    );
  }

  /** Lines of static data are at known distances from each other. */
  #markStatics(): void {
    const { code, first, last } = this.#view;
    const marked = this.#markedStatics;
    // No distance is above 0: behind the first marks end the addresses that instructions can name.
    const lines = [...this.#statics]
      .filter(([line, planes]) => (planes & ~(marked.get(line) ?? 0)) !== 0)
      .sort(([a], [b]) => b - a);
    this.#statics = new Map();
    if (lines.length === 0) return;
    const [base] = lines[0];
    const all = lines.map(([line, planes]) => ({ line: line - base, planes }));
    for (const [line, planes] of lines) marked.set(line, planes | (marked.get(line) ?? 0));
    const target = base * LINE_BYTES - code.base;
    this.#insert(first, last - 1, 0, (register) => markLines(all, register), target);
  }

  /** A block runs to its end: its accesses are counted at once. */
  #count(): void {
    const { first, last, live } = this.#view;
    const liveBefore = (i: number): number => live[i - first];
    const before = cheapestPlace(first, last - 1, 0, liveBefore);
    const { bytes, cold, distances } = countDown(this.#accesses);
    const saved = withFlags(liveBefore(before), bytes);
    this.#insertions.push({
      before,
      bytes: saved.bytes,
      cold,
      distances: distances.map((one) => ({
        ...one,
        at: one.at + (one.part === "bytes" ? saved.before : 0),
        offset: one.offset + (one.to === "bytes" ? saved.before : 0),
      })),
    });
  }

  /** `target`: offset in the code of what the code's distance leads to. */
  #insert(from: number, to: number, uses: number, code: ScratchCode, target?: number): void {
    const { first, live } = this.#view;
    const liveBefore = (i: number): number => live[i - first];
    const before = cheapestPlace(from, to, uses, liveBefore);
    const { bytes, before: at } = withScratch(liveBefore(before), uses, code);
    if (target === undefined) this.#insertions.push({ before, bytes });
    else {
      const distance = { part: "bytes", at: at + DISTANCE_AT, tail: 0, to: "old", offset: target } as const;
      this.#insertions.push({ before, bytes, distances: [distance] });
    }
  }
}

/** As the heap profiler has them: what reads and writes at once for all threads to see is one, as a string instruction is. */
function accessesOf({ access, locked, opcode, implicit }: Instruction): number {
  const isOne = locked || EXCHANGE.includes(opcode) || implicit !== IMPLICIT.none;
  return !isOne && access === (READ | WRITE) ? 2 : 1;
}

function linesOf(address: number, bytes: number): number[] {
  const first = Math.floor(address / LINE_BYTES);
  const last = Math.floor((address + bytes - 1) / LINE_BYTES);
  return first === last ? [first] : [first, last];
}
