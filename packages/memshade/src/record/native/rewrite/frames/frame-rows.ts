import { CfiCursor, DW_CFA, type FrameEntry } from "../../../../code/unwind/index.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { SKIP_RED_ZONE } from "../insertion/red-zone.ts";
import { walkStack } from "../insertion/stack-walk.ts";
import type { Insertion } from "../plan.ts";

/** A stretch of new code that a function was made to. */
export interface NewStretch {
  /** Places in the new text: where it begins and ends. */
  readonly start: number;
  readonly end: number;
  /** Where in it the code of an offset from the old start begins, or what follows that; `end` if nothing does. */
  of(distance: number): number;
}

/** The CFA as registers tell it; `base`: −1 for what is no sum of a register and a constant. */
interface Cfa {
  base: number;
  offset: number;
}

/**
 * Writes instructions of call frame information anew: with the distances between them that a stretch has, and where inserted code has moved
 * the stack pointer with the CFA as far above that.
 */
export class RowWriter {
  readonly #out: ByteWriter;
  readonly #cie: FrameEntry["cie"];
  readonly #stretch: NewStretch;
  readonly #shifts: ShiftCursor;
  readonly #remembered: Cfa[] = [];
  #cfa: Cfa = { base: -1, offset: 0 };
  /** Up to where rows are written, and which shift is part of the CFA there. */
  #at: number;
  #shown = 0;

  /** @param initial the instructions of the CIE */
  constructor(
    out: ByteWriter,
    cie: FrameEntry["cie"],
    initial: Uint8Array,
    stretch: NewStretch,
    shifts: ShiftCursor,
  ) {
    this.#out = out;
    this.#cie = cie;
    this.#stretch = stretch;
    this.#shifts = shifts;
    this.#at = stretch.start;
    const cursor = cursorOf(initial);
    while (cursor.position < cursor.end) this.#follow(cursor, cursor.unsigned(1));
    shifts.goTo(stretch.start);
  }

  write(instructions: Uint8Array): void {
    const { start, end } = this.#stretch;
    const cursor = cursorOf(instructions);
    let old = 0;
    while (cursor.position < cursor.end && (this.#at < end || start === end)) {
      const from = cursor.position;
      const opcode = cursor.unsigned(1);
      const distance = advanceOf(cursor, opcode);
      if (distance !== undefined) {
        old += distance * this.#cie.codeAlignment;
        this.#goOn(this.#stretch.of(old));
        continue;
      }
      // What the program says is of the CFA without a shift.
      this.#show(0);
      this.#follow(cursor, opcode);
      if (cursor.position > cursor.end) break;
      this.#out.range(instructions, from, cursor.position);
    }
    this.#goOn(end);
  }

  /** Up to a place, with the shifts in front of it. */
  #goOn(to: number): void {
    const shifts = this.#shifts;
    while (this.#at < to) {
      this.#show(shifts.shift);
      const next = Math.min(shifts.next, to);
      if (next < this.#stretch.end) writeAdvance(this.#out, next - this.#at);
      this.#at = next;
      shifts.goTo(next);
    }
  }

  #show(shift: number): void {
    const { base, offset } = this.#cfa;
    if (base !== RSP || shift === this.#shown) return;
    this.#out.u8(DW_CFA.def_cfa_offset).u32Leb(offset + shift);
    this.#shown = shift;
  }

  /** Moves over operands. */
  #follow(cursor: CfiCursor, opcode: number): void {
    const cfa = this.#cfa;
    const unit = this.#cie.dataAlignment;
    switch (opcode) {
      case DW_CFA.def_cfa:
        this.#cfa = { base: cursor.uleb(), offset: cursor.uleb() };
        break;
      case DW_CFA.def_cfa_sf:
        this.#cfa = { base: cursor.uleb(), offset: cursor.sleb() * unit };
        break;
      case DW_CFA.def_cfa_register:
        this.#cfa = { ...cfa, base: cursor.uleb() };
        break;
      case DW_CFA.def_cfa_offset:
        this.#cfa = { ...cfa, offset: cursor.uleb() };
        break;
      case DW_CFA.def_cfa_offset_sf:
        this.#cfa = { ...cfa, offset: cursor.sleb() * unit };
        break;
      case DW_CFA.def_cfa_expression:
        cursor.skip(cursor.uleb());
        this.#cfa = { base: -1, offset: 0 };
        break;
      case DW_CFA.remember_state:
        this.#remembered.push(cfa);
        break;
      case DW_CFA.restore_state:
        this.#cfa = this.#remembered.pop() ?? cfa;
        break;
      default:
        skipOperands(cursor, opcode);
    }
  }
}

function cursorOf(instructions: Uint8Array): CfiCursor {
  const cursor = new CfiCursor({ kind: "eh_frame", bytes: instructions, address: 0, addressSize: 8 });
  cursor.end = instructions.length;
  return cursor;
}

/** The operand of an instruction that goes on to another place; undefined for others. */
function advanceOf(cursor: CfiCursor, opcode: number): number | undefined {
  switch (opcode & 0xc0 || opcode) {
    case DW_CFA.advance_loc:
      return opcode & 0x3f;
    case DW_CFA.advance_loc1:
      return cursor.unsigned(1);
    case DW_CFA.advance_loc2:
      return cursor.unsigned(2);
    case DW_CFA.advance_loc4:
      return cursor.unsigned(4);
    default:
      return undefined;
  }
}

export function writeAdvance(out: ByteWriter, distance: number): void {
  if (distance === 0) return;
  if (distance < 0x40) out.u8(DW_CFA.advance_loc | distance);
  else if (distance < 0x100) out.u8(DW_CFA.advance_loc1).u8(distance);
  else out.u8(DW_CFA.advance_loc4).u32(distance);
}

function skipOperands(cursor: CfiCursor, opcode: number): void {
  switch (opcode & 0xc0 || opcode) {
    case DW_CFA.offset:
    case DW_CFA.offset_extended_sf:
    case DW_CFA.restore_extended:
    case DW_CFA.undefined:
    case DW_CFA.same_value:
    case DW_CFA.GNU_args_size:
      cursor.uleb();
      if (opcode === DW_CFA.offset_extended_sf) cursor.uleb();
      return;
    case DW_CFA.offset_extended:
    case DW_CFA.register:
    case DW_CFA.val_offset:
    case DW_CFA.val_offset_sf:
    case DW_CFA.GNU_negative_offset_extended:
      cursor.uleb();
      cursor.uleb();
      return;
    case DW_CFA.expression:
    case DW_CFA.val_expression:
      cursor.uleb();
      cursor.skip(cursor.uleb());
  }
}

/** From which places of code on the stack pointer is how many bytes below where the program has it, in the order of the places. */
class ShiftColumns {
  readonly #out = new ByteWriter(1 << 12);
  #last = 0;

  /** A shift that goes on is not written again. */
  add(at: number, shift: number): void {
    if (shift === this.#last) return;
    this.#last = shift;
    this.#out.u32(at).u32(shift);
  }

  /** Place and shift, again and again. */
  get pairs(): Int32Array {
    return new Int32Array(this.#out.view().slice().buffer);
  }
}

/** Goes through columns once. */
export class ShiftCursor {
  readonly #pairs: Int32Array;
  /** Added to their places. */
  readonly #distance: number;
  #i = 0;
  /** The shift where it stands. */
  shift = 0;

  constructor(columns: ShiftColumns, distance = 0) {
    this.#pairs = columns.pairs;
    this.#distance = distance;
  }

  /** The place from which on it is another one; ∞: there is none. */
  get next(): number {
    return this.#i < this.#pairs.length ? this.#pairs[this.#i] + this.#distance : Number.POSITIVE_INFINITY;
  }

  /** On to a place. */
  goTo(place: number): void {
    for (; this.next <= place; this.#i += 2) this.shift = this.#pairs[this.#i + 1];
  }
}

/** Reads of insertions how they move the stack pointer. */
export class StackShifts {
  /** Of what stands between the program's instructions, and of cold parts: places in these. */
  readonly hot = new ShiftColumns();
  readonly cold = new ShiftColumns();
  /** Where routines of the common code begin that insertions call. */
  readonly routines = new Set<number>();
  /** Code is decoded here: with room behind it that goes faster. */
  #room = new Uint8Array(1 << 10);
  #shift = 0;
  /** Of the cold part that was walked last, which may be that of many insertions: where the stack pointer moves, and how far it is then. */
  #walked: readonly number[] = [];
  #walkedPairs: number[] = [];

  /** An insertion may leave the stack pointer to a later one of its block. */
  beginBlock(at: number): void {
    this.#shift = 0;
    this.hot.add(at, 0);
  }

  /** @param at where it is going to stand */
  add({ bytes, cold = [], distances = [] }: Insertion, at: { hot: number; cold: number }): void {
    let shiftOfCold = this.#shift;
    if (shiftOfCold !== 0 || SKIP_RED_ZONE.every((byte, i) => bytes[i] === byte)) {
      const before = this.#shift;
      // The last bytes of the jump: the stack pointer is where it is in front of these.
      const toCold = distances.find(({ part, to }) => part === "bytes" && to === "cold")?.at ?? 0;
      this.#walk(bytes, (place, shift) => {
        this.#shift = before + shift;
        if (place <= toCold) shiftOfCold = this.#shift;
        this.hot.add(at.hot + place, this.#shift);
      });
    }
    if (cold.length === 0) return;
    for (const { to, offset } of distances) if (to === "common") this.routines.add(offset);
    if (cold !== this.#walked) {
      this.#walked = cold;
      const pairs: number[] = [];
      this.#walkedPairs = pairs;
      this.#walk(cold, (place, shift) => pairs.push(place, shift));
    }
    this.cold.add(at.cold, shiftOfCold);
    for (let i = 0; i < this.#walkedPairs.length; i += 2)
      this.cold.add(at.cold + this.#walkedPairs[i], shiftOfCold + this.#walkedPairs[i + 1]);
  }

  #walk(code: readonly number[], onShift: (place: number, shift: number) => void): void {
    if (this.#room.length < 2 * code.length) this.#room = new Uint8Array(2 * code.length);
    this.#room.set(code);
    walkStack(this.#room, [0, code.length], onShift);
  }
}

/** By the numbers of DWARF. */
const RSP = 7;
