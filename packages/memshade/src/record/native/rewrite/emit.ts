import { FLOW, hasTarget } from "../../../code/x64/decode/index.ts";
import { int32At } from "../../../ground/bytes/int32.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { type Code, type CodeFunction, TRAIT } from "./code.ts";
import type { FlowGraph } from "./flow-graph.ts";
import { type NewStretch, StackShifts } from "./frames/frame-rows.ts";
import type { Liveness } from "./liveness.ts";
import type { Insertion, PlanBlock } from "./plan.ts";
import { isWatched, SKIP_SYSTEM_CALL, WATCH } from "./watched-system-calls.ts";

/** The new code of all functions. */
export interface NewText {
  readonly bytes: Uint8Array;
  /** Where each instruction lies in it, with what is inserted in front of it. */
  readonly offsets: Int32Array;
  /** Where each function begins and ends in it. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** Where the last instruction of each function ends: in front of a jump to what it runs into. */
  readonly instructionEnds: Int32Array;
  /** Behind all functions. */
  readonly cold: ColdParts;
  /** Behind cold parts: what the tool has once. */
  readonly common: Uint8Array;
  readonly commonAt: number;
  readonly shifts: StackShifts;
}

const FUNCTION_ALIGNMENT = 16;
/** Nops of 1 to 9 bytes, as the manuals of Intel and AMD recommend them. */
const NOPS = [
  [0x90],
  [0x66, 0x90],
  [0x0f, 0x1f, 0x00],
  [0x0f, 0x1f, 0x40, 0],
  [0x0f, 0x1f, 0x44, 0, 0],
  [0x66, 0x0f, 0x1f, 0x44, 0, 0],
  [0x0f, 0x1f, 0x80, 0, 0, 0, 0],
  [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
  [0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
];
const [JUMP, SHORT_JUMP, CALL, TRAP] = [0xe9, 0xeb, 0xe8, 0xcc];
/** With ModRM for a place relative to the instruction. */
const [INDIRECT, CALL_BY_SLOT, JUMP_BY_SLOT] = [0xff, 0x15, 0x25];
const BEGIN_TRANSACTION = 0xc7;
const SHORT_ADDRESS = 0x67;
const LOOPS_FROM = 0xe0;
const LOOPS_TO = 0xe3;

/**
 * Writes every function anew, at `address` (SVMA): instructions in their order, insertions between them, distances adjusted. Where
 * code leads to that is not written anew, it leads to as before.
 */
export function emitText(
  graph: FlowGraph,
  liveness: Liveness,
  plan: PlanBlock,
  address: number,
  areCallsWatched: boolean,
): NewText {
  const writer = new TextWriter(graph.code, address);
  const { code } = graph;
  let live = new Int32Array(64);
  const starts = new Int32Array(code.functions.length);
  const ends = new Int32Array(code.functions.length);
  const instructionEnds = new Int32Array(code.functions.length);
  for (const [f, { end }] of code.functions.entries()) {
    writer.align(FUNCTION_ALIGNMENT, TRAP);
    starts[f] = writer.length;
    for (let block = graph.blocksOf[f]; block < graph.blocksOf[f + 1]; block++) {
      const first = graph.firsts[block];
      const last = graph.firsts[block + 1];
      if (live.length <= last - first) live = new Int32Array(2 * (last - first));
      writer.shifts.beginBlock(writer.length);
      liveness.ofBlock(block, live);
      const insertions = plan({ code, first, last, live });
      let next = 0;
      for (let i = first; i < last; i++) {
        writer.place(i);
        for (; insertions[next]?.before === i && insertions[next].where !== "behind"; next++)
          writer.insert(insertions[next], plan);
        if (areCallsWatched && isWatched(code, i)) writer.watch(i, plan);
        writer.instruction(i);
        for (; insertions[next]?.before === i; next++) writer.insert(insertions[next], plan);
      }
    }
    instructionEnds[f] = writer.length;
    writer.finishFunction(end);
    ends[f] = writer.length;
  }
  return { ...writer.finish(plan.common), offsets: writer.offsets, starts, ends, instructionEnds };
}

/** What distances of insertions stand in, the first two, and lead to. */
const PARTS = { bytes: 0, cold: 1, common: 2, old: 3 } as const;
const [PARTS_FROM, PARTS_TO] = [2, 4];

class TextWriter {
  readonly offsets: Int32Array;
  readonly shifts = new StackShifts();
  readonly #code: Code;
  readonly #address: number;
  readonly #out: ByteWriter;
  /** Places of four bytes, and the instruction that they are the distance to. */
  readonly #openAt: Int32Array;
  readonly #openTo: Int32Array;
  #open = 0;
  /** Cold parts of insertions. */
  readonly #cold = new ByteWriter(1 << 16);
  /** Instruction and place of each. */
  readonly #coldParts = new ByteWriter(1 << 12);
  /** Where distances of insertions stand in their part, 4 bytes each, by what they stand in and lead to: there are millions. */
  readonly #inserted = Array.from({ length: PARTS_FROM * PARTS_TO }, () => new ByteWriter());
  #fallsThrough = true;

  constructor(code: Code, address: number) {
    this.#code = code;
    this.#address = address;
    this.offsets = new Int32Array(code.count);
    // One an instruction at most, and one at a function's end.
    const most = code.count + code.functions.length;
    this.#openAt = new Int32Array(most);
    this.#openTo = new Int32Array(most);
    this.#out = new ByteWriter(2 * code.bytes.length);
  }

  get length(): number {
    return this.#out.length;
  }

  align(bytes: number, filler: number): void {
    while (this.#out.length % bytes !== 0) this.#out.u8(filler);
  }

  /** The next instruction begins here. */
  place(i: number): void {
    const code = this.#code;
    const isAligned = (code.traits[i] & TRAIT.leader) !== 0 && (code.base + code.offsets[i]) % 16 === 0;
    if (isAligned && i > 0 && (code.traits[i - 1] & TRAIT.nop) !== 0)
      for (let left = -this.#out.length & 15; left > 0; left -= NOPS[Math.min(left, 9) - 1].length)
        this.#out.bytes(NOPS[Math.min(left, 9) - 1]);
    this.offsets[i] = this.#out.length;
  }

  /** Distances are written as if all parts began at 0. */
  insert(insertion: Insertion, plan: PlanBlock): void {
    const { before, bytes, cold = [], distances = [] } = insertion;
    const [out, coldOut] = [this.#out, this.#cold];
    if (plan.isWalked) this.shifts.add(insertion, { hot: out.length, cold: coldOut.length });
    if (plan.isWalked && cold.length > 0) this.#coldParts.u32(before).u32(coldOut.length);
    const starts = [out.length, coldOut.length, 0, 0];
    out.bytes(bytes);
    coldOut.bytes(cold);
    for (const { part, at, tail, to, offset } of distances) {
      const place = starts[PARTS[part]] + at;
      const distance = starts[PARTS[to]] + offset - (place + 4 + tail);
      (part === "bytes" ? out : coldOut).patchU32(place, distance);
      this.#inserted[PARTS[part] * PARTS_TO + PARTS[to]].u32(place);
    }
  }

  /** A system call is looked at before it is made. */
  watch(i: number, plan: PlanBlock): void {
    this.insert({ before: i, ...WATCH }, plan);
    this.#out.bytes(SKIP_SYSTEM_CALL);
  }

  instruction(i: number): void {
    const code = this.#code;
    const flow = code.flows[i];
    this.#fallsThrough =
      flow !== FLOW.jump && flow !== FLOW.return && flow !== FLOW.indirectJump && flow !== FLOW.trap;
    if (hasTarget(flow)) {
      this.#direct(i, flow);
      return;
    }
    if ((code.traits[i] & TRAIT.nop) !== 0 && this.#isPadding(i)) return;
    const start = code.offsets[i];
    const at = this.#out.length;
    this.#out.range(code.bytes, start, start + code.lengths[i]);
    const relativeAt = code.relativeAt[i];
    if (relativeAt === 0) return;
    const moved = code.base + start - (this.#address + at);
    this.#out.patchU32(at + relativeAt, int32At(code.bytes, start + relativeAt) + moved);
  }

  /** Nops in front of a place that is aligned: that is aligned anew. */
  #isPadding(i: number): boolean {
    const code = this.#code;
    let next = i;
    while (next < code.count && (code.traits[next] & TRAIT.nop) !== 0) next++;
    return next < code.count && (code.traits[next] & TRAIT.leader) !== 0;
  }

  #direct(i: number, flow: number): void {
    const code = this.#code;
    const opcode = code.opcodes[i];
    const target = code.targets[i];
    const slot = flow === FLOW.branch ? undefined : code.stubs.slotOf(target);
    if (slot !== undefined) {
      // What the stub does, without going there.
      this.#out.u8(INDIRECT).u8(flow === FLOW.call ? CALL_BY_SLOT : JUMP_BY_SLOT);
      this.#out.u32(slot - (this.#address + this.#out.length + 4));
    } else if (flow === FLOW.call) {
      this.#out.u8(CALL);
      this.#distance(target);
    } else if (flow === FLOW.jump) this.#jump(target);
    else if (opcode === BEGIN_TRANSACTION) {
      this.#out.u8(opcode).u8(0xf8);
      this.#distance(target);
    } else if (opcode >= LOOPS_FROM && opcode <= LOOPS_TO) {
      // They reach 127 bytes only: over a jump that is not taken.
      const at = code.offsets[i];
      const prefixes = code.bytes.subarray(at, at + code.lengths[i] - 2);
      if (prefixes.includes(SHORT_ADDRESS)) this.#out.u8(SHORT_ADDRESS);
      this.#out.bytes([opcode, 2, SHORT_JUMP, 5, JUMP]);
      this.#distance(target);
    } else if (!this.#short(target, 0x70 | (opcode & 15))) {
      this.#out.u8(0x0f).u8(0x80 | (opcode & 15));
      this.#distance(target);
    }
  }

  #jump(target: number): void {
    if (this.#short(target, SHORT_JUMP)) return;
    this.#out.u8(JUMP);
    this.#distance(target);
  }

  /** A jump to what is near and already written. */
  #short(target: number, opcode: number): boolean {
    const to = this.#code.instructionAt(target);
    if (to < 0 || !this.#isWritten(to)) return false;
    const distance = this.offsets[to] - (this.#out.length + 2);
    if (distance < -128) return false;
    this.#out.u8(opcode).u8(distance);
    return true;
  }

  /** Instructions are written in their order; the first one is, in any case. */
  #isWritten(i: number): boolean {
    return i === 0 || this.offsets[i] !== 0;
  }

  /** Four bytes that lead from behind them to an offset of the old code. */
  #distance(target: number): void {
    const to = this.#code.instructionAt(target);
    const at = this.#out.length;
    if (to < 0) this.#out.u32(this.#code.base + target - (this.#address + at + 4));
    else {
      this.#openAt[this.#open] = at;
      this.#openTo[this.#open++] = to;
      this.#out.u32(0);
    }
  }

  /** What runs over a function's end runs into what follows it. */
  finishFunction(end: number): void {
    if (this.#fallsThrough) this.#jump(end);
  }

  finish(
    common: Uint8Array = new Uint8Array(),
  ): Pick<NewText, "bytes" | "cold" | "common" | "commonAt" | "shifts"> {
    const coldAt = this.#out.length;
    const cold = new ColdParts(this.#coldParts, coldAt, this.#cold.length);
    this.#out.bytes(this.#cold.view());
    this.align(FUNCTION_ALIGNMENT, TRAP);
    const commonAt = this.#out.length;
    const starts = [0, coldAt, commonAt, this.#code.base - this.#address];
    this.#out.bytes(common);
    for (const [kind, places] of this.#inserted.entries()) {
      const start = starts[Math.floor(kind / PARTS_TO)];
      this.#addToEach(places.view(), start, starts[kind % PARTS_TO] - start);
    }
    for (let open = 0; open < this.#open; open++) {
      const at = this.#openAt[open];
      this.#out.patchU32(at, this.offsets[this.#openTo[open]] - (at + 4));
    }
    return { bytes: this.#out.view(), cold, common, commonAt, shifts: this.shifts };
  }

  /** Adds to four bytes at each of some places behind an offset. */
  #addToEach(places: Uint8Array, start: number, addend: number): void {
    if (addend === 0) return;
    const bytes = this.#out.view();
    for (let i = 0; i < places.length; i += 4) {
      const at = start + int32At(places, i);
      this.#out.patchU32(at, int32At(bytes, at) + addend);
    }
  }
}

/** Cold parts of insertions, which follow each other as the instructions do that they were inserted for. */
class ColdParts {
  /** Instruction and place of each, and the end of the last one. */
  readonly #pairs: Int32Array;
  /** Where they begin. */
  readonly start: number;

  /** @param pairs 4 bytes each @param start where the places are counted from @param bytes of all parts */
  constructor(pairs: ByteWriter, start: number, bytes: number) {
    this.start = start;
    const all = new ByteWriter(pairs.length + 8).bytes(pairs.view()).u32(-1).u32(bytes);
    this.#pairs = new Int32Array(all.view().slice().buffer);
    for (let i = 1; i < this.#pairs.length; i += 2) this.#pairs[i] += start;
  }

  instruction(part: number): number {
    return this.#pairs[2 * part];
  }

  place(part: number): number {
    return this.#pairs[2 * part + 1];
  }

  /** By the numbers of functions that have any. */
  ofFunctions(code: Code): Map<number, ColdStretch> {
    const found = new Map<number, ColdStretch>();
    const count = this.#pairs.length / 2 - 1;
    let part = 0;
    for (const [f, one] of code.functions.entries()) {
      const first = part;
      while (part < count && this.instruction(part) < one.last) part++;
      if (part > first) found.set(f, new ColdStretch(this, code, one, first, part));
    }
    return found;
  }
}

/** Cold parts of one function. */
export class ColdStretch implements NewStretch {
  readonly parts: ColdParts;
  /** `[first, last)` */
  readonly first: number;
  readonly last: number;
  readonly #code: Code;
  readonly #function: CodeFunction;

  constructor(parts: ColdParts, code: Code, of: CodeFunction, first: number, last: number) {
    this.parts = parts;
    this.first = first;
    this.last = last;
    this.#code = code;
    this.#function = of;
  }

  get start(): number {
    return this.parts.place(this.first);
  }

  get end(): number {
    return this.parts.place(this.last);
  }

  of(distance: number): number {
    const offset = this.#function.start + distance;
    let low = this.first;
    let high = this.last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#code.offsets[this.parts.instruction(middle)] < offset) low = middle + 1;
      else high = middle;
    }
    return this.parts.place(low);
  }
}
