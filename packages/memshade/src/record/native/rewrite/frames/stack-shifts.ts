import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { SKIP_RED_ZONE } from "../insertion/red-zone.ts";
import { walkStack } from "../insertion/stack-walk.ts";
import type { Insertion } from "../plan.ts";

/** From which places of code on the stack pointer is how many bytes below where the program has it, in the order of the places. */
export class ShiftColumns {
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
