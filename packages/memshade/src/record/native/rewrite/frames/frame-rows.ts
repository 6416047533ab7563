import { CfiCursor, DW_CFA, type FrameEntry } from "../../../../code/unwind/index.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { SKIP_RED_ZONE } from "../insertion/red-zone.ts";
import { walkStack } from "../insertion/stack-walk.ts";
import type { Insertion } from "../plan.ts";

/** A range of new code that was made from a function. */
export interface NewStretch {
  /** Start and end, as offsets in the new text. */
  readonly start: number;
  readonly end: number;
  /**
   * Returns where the code at an offset from the old start begins, or the code after it; `end` if there is
   * none.
   */
  offsetOf(distance: number): number;
}

/** The CFA as a sum of a register and a constant; `base` is −1 if it is no such sum. */
interface Cfa {
  base: number;
  offset: number;
}

/**
 * Rewrites call frame instructions for a range of new code: with its distances, and with a larger CFA offset
 * where inserted code has moved the stack pointer.
 */
export class RowWriter {
  readonly #out: ByteWriter;
  readonly #cie: FrameEntry["cie"];
  readonly #stretch: NewStretch;
  readonly #shifts: ShiftCursor;
  readonly #remembered: Cfa[] = [];
  #cfa: Cfa = { base: -1, offset: 0 };
  /** End of the rows written so far, and the shift in the CFA's offset there. */
  #at: number;
  #shown = 0;

  /** @param initial instructions of the CIE */
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
        this.#goOn(this.#stretch.offsetOf(old));
        continue;
      }
      // The old instructions describe the CFA without a shift.
      this.#show(0);
      this.#follow(cursor, opcode);
      if (cursor.position > cursor.end) break;
      this.#out.range(instructions, from, cursor.position);
    }
    this.#goOn(end);
  }

  /** Writes rows up to an offset, with the shifts before it. */
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

  /** Reads the operands of an instruction, and tracks the CFA. */
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

/** Returns the operand of an advance instruction; undefined for other instructions. */
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

/**
 * Offsets in new code, sorted, from which the stack pointer is a number of bytes below its value in the old
 * code.
 */
class ShiftColumns {
  readonly #out = new ByteWriter(1 << 12);
  #last = 0;

  /** Writes nothing if the shift is the same as before. */
  add(at: number, shift: number): void {
    if (shift === this.#last) return;
    this.#last = shift;
    this.#out.u32(at).u32(shift);
  }

  /** Alternating offsets and shifts. */
  get pairs(): Int32Array {
    return new Int32Array(this.#out.view().slice().buffer);
  }
}

/** Iterates over shifts once. */
export class ShiftCursor {
  readonly #pairs: Int32Array;
  readonly #distance: number;
  #i = 0;
  shift = 0;

  constructor(columns: ShiftColumns, distance = 0) {
    this.#pairs = columns.pairs;
    this.#distance = distance;
  }

  /** Returns the offset of the next shift, or ∞. */
  get next(): number {
    return this.#i < this.#pairs.length ? this.#pairs[this.#i] + this.#distance : Number.POSITIVE_INFINITY;
  }

  goTo(place: number): void {
    for (; this.next <= place; this.#i += 2) this.shift = this.#pairs[this.#i + 1];
  }
}

/** Computes from insertions how they move the stack pointer. */
export class StackShifts {
  /** Shifts between the program's instructions, and in cold parts. */
  readonly hot = new ShiftColumns();
  readonly cold = new ShiftColumns();
  /** Starts of the routines in the common code that insertions call. */
  readonly routines = new Set<number>();
  /** Buffer for decoding: bytes after the code make decoding faster. */
  #room = new Uint8Array(1 << 10);
  #shift = 0;
  /** Cold part that was walked last, which many insertions may share, and its shifts. */
  #walked: readonly number[] = [];
  #walkedPairs: number[] = [];

  /** An insertion may leave the stack pointer moved until a later one of its block. */
  beginBlock(at: number): void {
    this.#shift = 0;
    this.hot.add(at, 0);
  }

  /** @param at offsets at which the insertion is placed */
  add({ bytes, cold = [], distances = [] }: Insertion, at: { hot: number; cold: number }): void {
    let shiftOfCold = this.#shift;
    if (shiftOfCold !== 0 || SKIP_RED_ZONE.every((byte, i) => bytes[i] === byte)) {
      const before = this.#shift;
      // Offset of the jump's displacement. The cold part begins with the shift before it.
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

/** DWARF number of rsp. */
const RSP = 7;
