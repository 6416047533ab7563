import type { Code } from "../../../native/rewrite/code.ts";
import { TRAIT } from "../../../native/rewrite/code.ts";
import type { BlockView, Insertion } from "../../../native/rewrite/emit.ts";
import {
  ADDRESS_ONLY,
  decode,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  SEGMENT,
} from "../../../x64/decode/index.ts";
import { GENERAL, RBP, RSP } from "../../../x64/index.ts";
import { DISTANCE_AT, markLines, markPlaces } from "./mark-code.ts";
import { cheapestPlace, withScratch } from "./scratch-registers.ts";
import { LINE_SHIFT } from "./shadow.ts";
import { TouchedSpans } from "./touched-spans.ts";

const LINE_BYTES = 2 ** LINE_SHIFT;
const instruction = new Instruction();

/**
 * Marks the lines of a block's accesses. Left out are the function's own part of the stack, which is reached by rsp, or by rbp where
 * that is the frame pointer; what a segment or a vector of indices is part of the address of; and what `push`, `pop` and calls do.
 */
export function planMarks(block: BlockView): Insertion[] {
  const { code, first, last } = block;
  const open = new Map<string, TouchedSpans[]>();
  const statics = new Map<number, number>();
  const insertions: Insertion[] = [];
  /** Where each register was written last, plus one. */
  const written = new Int32Array(16).fill(first);
  const close = (spans: TouchedSpans, to: number): void => {
    insertions.push(placed(block, spans.from, to, spans.uses, (register) =>
      markPlaces(spans.registers, spans.marks(), register),
    ));
  };
  for (let i = first; i < last; i++) {
    if ((code.traits[i] & TRAIT.access) === 0 && open.size === 0) {
      // What it writes is not looked at.
      written.fill(i + 1);
      continue;
    }
    decode(code.bytes, code.offsets[i], instruction);
    const { access, base, index, displacement, size } = instruction;
    if (isMarked(code, i)) {
      if (base === INSTRUCTION_POINTER || (base === NO_REGISTER && index === NO_REGISTER)) {
        const from = base === NO_REGISTER ? 0 : code.base + code.offsets[i] + instruction.length;
        for (const at of linesOf(from + displacement, size)) statics.set(at, (statics.get(at) ?? 0) | access);
      } else {
        const key = `${base} ${index} ${instruction.scale} ${instruction.shortAddress}`;
        let all = open.get(key);
        if (all === undefined) {
          all = [];
          open.set(key, all);
        }
        const bytes = size || 1;
        if (!all.some((spans) => spans.add(displacement, bytes, access))) {
          const spans = spansFor(base, index, written);
          spans.add(displacement, bytes, access);
          all.push(spans);
        }
      }
    }
    for (const [key, all] of open)
      if ((all[0].uses & instruction.writes) !== 0) {
        for (const spans of all) close(spans, i);
        open.delete(key);
      }
    for (let register = 0; register < 16; register++)
      if ((instruction.writes & (1 << register)) !== 0) written[register] = i + 1;
  }
  for (const all of open.values()) for (const spans of all) close(spans, last - 1);
  if (statics.size > 0) insertions.push(...markStatics(block, statics));
  return insertions.sort((a, b) => a.before - b.before);
}

function isMarked(code: Code, i: number): boolean {
  const { access, segment, vectorIndex, base, index } = instruction;
  if (access === 0 || (access & ADDRESS_ONLY) !== 0 || segment !== SEGMENT.none || vectorIndex) return false;
  if (base === RSP.number) return false;
  if (base === RBP.number && hasFramePointer(code, i)) return false;
  // An address without registers is one of a program that lies where its file says.
  return base !== NO_REGISTER || index !== NO_REGISTER || isLow(instruction.displacement);
}

function isLow(address: number): boolean {
  return address > 0 && address < 2 ** 31;
}

const framePointers = new WeakMap<Code, Map<number, boolean>>();

/** Whether the function around an instruction begins with `mov %rsp, %rbp`, or does so anywhere. */
function hasFramePointer(code: Code, i: number): boolean {
  let known = framePointers.get(code);
  if (known === undefined) {
    known = new Map();
    framePointers.set(code, known);
  }
  const f = code.functionAround(code.offsets[i]);
  const found = known.get(f);
  if (found !== undefined) return found;
  const { first, last } = code.functions[f];
  let has = false;
  for (let one = first; one < last && !has; one++) {
    const at = code.offsets[one];
    const [rex, opcode, modRm] = code.bytes.subarray(at, at + 3);
    has = rex === 0x48 && ((opcode === 0x89 && modRm === 0xe5) || (opcode === 0x8b && modRm === 0xec));
  }
  known.set(f, has);
  return has;
}

function spansFor(base: number, index: number, written: Int32Array): TouchedSpans {
  const register = (number: number) => (number === NO_REGISTER ? undefined : GENERAL[number]);
  const registers = {
    base: register(base),
    index: register(index),
    scale: instruction.scale as 1 | 2 | 4 | 8,
    isShort: instruction.shortAddress,
  };
  const uses = (base === NO_REGISTER ? 0 : 1 << base) | (index === NO_REGISTER ? 0 : 1 << index);
  const from = Math.max(
    base === NO_REGISTER ? 0 : written[base],
    index === NO_REGISTER ? 0 : written[index],
  );
  return new TouchedSpans(registers, uses, from);
}

function placed(
  { first, live }: BlockView,
  from: number,
  to: number,
  uses: number,
  code: (register: number) => number[],
  target?: number,
): Insertion {
  const liveBefore = (i: number): number => live[i - first];
  const before = cheapestPlace(from, to, uses, liveBefore);
  const saved = withScratch(liveBefore(before), uses, code);
  if (target === undefined) return { before, bytes: saved.bytes };
  return { before, bytes: saved.bytes, distance: { at: saved.before + DISTANCE_AT, target } };
}

function linesOf(address: number, size: number): number[] {
  const first = Math.floor(address / LINE_BYTES);
  const last = Math.floor((address + Math.max(size, 1) - 1) / LINE_BYTES);
  return first === last ? [first] : [first, last];
}

/** Marks of static data: lines are at known distances from each other. */
function markStatics(block: BlockView, statics: ReadonlyMap<number, number>): Insertion[] {
  // No distance is above 0: behind the first marks end the addresses that instructions can name.
  const lines = [...statics].sort(([a], [b]) => b - a);
  const [base] = lines[0];
  const all = lines.map(([line, planes]) => ({ line: line - base, planes }));
  const code = (register: number) => markLines(all, register);
  return [placed(block, block.first, block.last - 1, 0, code, base * LINE_BYTES)];
}
