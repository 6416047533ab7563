import { FLOW, hasTarget } from "../../../code/x64/decode/index.ts";
import { int32At } from "../../../ground/bytes/numbers.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { type Code, type CodeFunction, TRAIT } from "./code.ts";
import type { FlowGraph } from "./flow-graph.ts";
import { type NewStretch, StackShifts } from "./frames/frame-rows.ts";
import type { Liveness } from "./liveness.ts";
import type { Insertion, PlanBlock } from "./plan.ts";
import { isWatched, SKIP_SYSTEM_CALL, WATCH } from "./watched-system-calls.ts";

export interface NewText {
  readonly bytes: Uint8Array;
  /** Offset of each instruction, including the code that is inserted before it. */
  readonly offsets: Int32Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** End of each function's last instruction. A jump to the following code may come after it. */
  readonly instructionEnds: Int32Array;
  readonly cold: ColdParts;
  /** Code that the tool needs once, placed behind the cold parts. */
  readonly common: Uint8Array;
  readonly commonAt: number;
  readonly shifts: StackShifts;
}

const FUNCTION_ALIGNMENT = 16;
/** Nops of 1 to 9 bytes, as Intel and AMD recommend them. */
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
/** Opcode and ModRM bytes of a rip-relative call and jump. */
const [INDIRECT, CALL_BY_SLOT, JUMP_BY_SLOT] = [0xff, 0x15, 0x25];
const BEGIN_TRANSACTION = 0xc7;
const SHORT_ADDRESS = 0x67;
const LOOPS_FROM = 0xe0;
const LOOPS_TO = 0xe3;

/**
 * Writes new code for every function, at `address` (SVMA): instructions in their order with insertions in
 * between, and adjusted displacements. Targets without new code stay the old ones.
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
      const insertions = plan({ code, graph, block, first, last, live });
      let next = 0;
      for (let i = first; i < last; i++) {
        writer.place(i);
        for (; insertions[next]?.before === i && insertions[next].position !== "behind"; next++)
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

/** Parts of an insertion. A displacement is stored in one of the first two, and leads to any of them. */
const PARTS = { bytes: 0, cold: 1, common: 2, old: 3 } as const;
const [PARTS_FROM, PARTS_TO] = [2, 4];

class TextWriter {
  readonly offsets: Int32Array;
  readonly shifts = new StackShifts();
  readonly #code: Code;
  readonly #address: number;
  readonly #out: ByteWriter;
  /** Open 4-byte displacements: where each is stored, and the instruction that it must reach. */
  readonly #openAt: Int32Array;
  readonly #openTo: Int32Array;
  #open = 0;
  readonly #cold = new ByteWriter(1 << 16);
  /** Pairs of an instruction and the offset of its cold part. */
  readonly #coldParts = new ByteWriter(1 << 12);
  /**
   * Offsets of insertions' displacements, 4 bytes each, by the part that contains them and the part of the
   * target. There are millions of them.
   */
  readonly #inserted = Array.from({ length: PARTS_FROM * PARTS_TO }, () => new ByteWriter());
  #fallsThrough = true;

  constructor(code: Code, address: number) {
    this.#code = code;
    this.#address = address;
    this.offsets = new Int32Array(code.count);
    // Most displacements: one per instruction, and one per function's end.
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

  /** Begins instruction `i` here, with padding if it was an aligned target. */
  place(i: number): void {
    const code = this.#code;
    const isAligned = (code.traits[i] & TRAIT.leader) !== 0 && (code.base + code.offsets[i]) % 16 === 0;
    if (isAligned && i > 0 && (code.traits[i - 1] & TRAIT.nop) !== 0)
      for (
        let missing = -this.#out.length & 15;
        missing > 0;
        missing -= NOPS[Math.min(missing, 9) - 1].length
      )
        this.#out.bytes(NOPS[Math.min(missing, 9) - 1]);
    this.offsets[i] = this.#out.length;
  }

  /** Displacements are written as if every part began at 0; `finish` adds the difference. */
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

  /**
   * Inserts a call of the recorder before a system call that it watches, and a jump that can skip the system
   * call.
   */
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

  /** Returns true for nops before an aligned target, which gets new padding. */
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
      // Calls or jumps through the stub's slot, without the stub.
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
      // `loop` and `jrcxz` reach only 127 bytes, so they jump to a long jump.
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

  /** Writes a short jump if the target is near and already written. */
  #short(target: number, opcode: number): boolean {
    const to = this.#code.instructionAt(target);
    if (to < 0 || !this.#isWritten(to)) return false;
    const distance = this.offsets[to] - (this.#out.length + 2);
    if (distance < -128) return false;
    this.#out.u8(opcode).u8(distance);
    return true;
  }

  /** Instructions are written in order, so a written one has an offset. The first has offset 0. */
  #isWritten(i: number): boolean {
    return i === 0 || this.offsets[i] !== 0;
  }

  /** Writes a 4-byte displacement that leads to an offset of the old code. */
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

  /** Adds a jump to the following code if control can pass the function's end. */
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

  /** Adds a number to the displacements at some offsets behind `start`. */
  #addToEach(places: Uint8Array, start: number, addend: number): void {
    if (addend === 0) return;
    const bytes = this.#out.view();
    for (let i = 0; i < places.length; i += 4) {
      const at = start + int32At(places, i);
      this.#out.patchU32(at, int32At(bytes, at) + addend);
    }
  }
}

/** Cold parts of insertions, in the order of their instructions. */
class ColdParts {
  /** Pairs of an instruction and an offset, and the end of the last part. */
  readonly #pairs: Int32Array;
  readonly start: number;

  /**
   * @param pairs 4 bytes per number
   * @param start offset from which the pairs' offsets count
   * @param bytes total size of the parts
   */
  constructor(pairs: ByteWriter, start: number, bytes: number) {
    this.start = start;
    const numbers = new ByteWriter(pairs.length + 8).bytes(pairs.view()).u32(-1).u32(bytes);
    this.#pairs = new Int32Array(numbers.view().slice().buffer);
    for (let i = 1; i < this.#pairs.length; i += 2) this.#pairs[i] += start;
  }

  instruction(part: number): number {
    return this.#pairs[2 * part];
  }

  place(part: number): number {
    return this.#pairs[2 * part + 1];
  }

  /** Returns the cold parts of each function that has any, by its number. */
  ofFunctions(code: Code): Map<number, ColdStretch> {
    const found = new Map<number, ColdStretch>();
    const count = this.#pairs.length / 2 - 1;
    let part = 0;
    for (const [f, codeFunction] of code.functions.entries()) {
      const first = part;
      while (part < count && this.instruction(part) < codeFunction.last) part++;
      if (part > first) found.set(f, new ColdStretch(this, code, codeFunction, first, part));
    }
    return found;
  }
}

export class ColdStretch implements NewStretch {
  readonly parts: ColdParts;
  readonly first: number;
  readonly last: number;
  readonly #code: Code;
  readonly #function: CodeFunction;

  constructor(parts: ColdParts, code: Code, codeFunction: CodeFunction, first: number, last: number) {
    this.parts = parts;
    this.first = first;
    this.last = last;
    this.#code = code;
    this.#function = codeFunction;
  }

  get start(): number {
    return this.parts.place(this.first);
  }

  get end(): number {
    return this.parts.place(this.last);
  }

  offsetOf(distance: number): number {
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
