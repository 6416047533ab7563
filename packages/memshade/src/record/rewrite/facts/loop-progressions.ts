import { I32, type ValType } from "../../../code/wasm/index.ts";
import type { ControlStack } from "../walk/control-stack.ts";
import { Definition, type ValueNumbers } from "../walk/value-numbers.ts";
import type { Insertions } from "../write/insertions.ts";
import type { LinearForm } from "../write/linear-form.ts";
import { loopTemporary, type Temporaries } from "../write/temporaries.ts";
import { addTrip, clearLocal, copyLocal, tripsFromDistance } from "../write/trip-counts.ts";

/** An address as a function of the locals after the loop, and its change per trip. */
export interface Progression {
  /** Address one stride after that of the last trip. */
  end: LinearForm;
  stride: LinearForm;
}

/**
 * Largest step of an induction variable that is no address. Such a variable wraps only after 2^32 / 4 trips of one
 * loop.
 */
const LONGEST_COUNTING_STEP = 4;
const MOST_TERMS = 4;

/**
 * Follows the addresses of a loop that is a single basic block. An address that moves by a constant distance per trip,
 * or not at all, can be computed from the locals after the loop. An address may be a sum of locals times constants. The
 * number of trips follows from the distance of an induction variable, so the loop itself often needs no extra
 * instruction.
 */
export class LoopProgressions {
  readonly #insertions: Insertions;
  readonly #values: ValueNumbers;
  /** Types of the function's locals. Only locals of type i32 are followed. */
  locals: ArrayLike<ValType> = [];
  #startTime = 0;
  #valuesAtHeader = 0;

  constructor(insertions: Insertions, values: ValueNumbers) {
    this.#insertions = insertions;
    this.#values = values;
  }

  /** Selects the innermost block of `control`, a loop. */
  begin(control: ControlStack): void {
    this.#startTime = control.startTime[control.top];
    this.#valuesAtHeader = control.loopValues[control.top];
  }

  /**
   * Returns the movement of the address `base + offset`; undefined if it cannot be followed. `holder`: a local that
   * held the base.
   */
  progressionOf(base: number, offset: number, holder: number): Progression | undefined {
    const progression: Progression = { end: { terms: [], constant: 0 }, stride: { terms: [], constant: 0 } };
    return this.#add(progression, base, offset, 1, holder) ? progression : undefined;
  }

  /**
   * Inserts code that counts the trips. `end` is the offset after the loop. Returns the local that holds their number
   * there.
   */
  countTrips(control: ControlStack, end: number, progression: Progression, temporaries: Temporaries): number {
    const insertions = this.#insertions;
    const at = control.top;
    const trips = loopTemporary(temporaries.loops++);
    const induction = this.#findInduction(progression);
    if (induction < 0) {
      insertions.add(control.loopStart[at], clearLocal(trips));
      insertions.add(control.loopBody[at], addTrip(trips));
    } else {
      insertions.add(control.loopStart[at], copyLocal(trips, induction));
      insertions.add(end, tripsFromDistance(trips, induction, this.#values.localOffset[induction]));
    }
    return trips;
  }

  /**
   * Adds `(value + offset) × factor`. Returns false if the value cannot be followed. `holder`: a local that held the
   * value, or −1.
   */
  #add(sum: Progression, value: number, offset: number, factor: number, holder: number): boolean {
    const values = this.#values;
    return (
      this.#addLocal(sum, value, offset, factor, holder) ||
      this.#addLocal(sum, value, offset, factor, values.origin[value]) ||
      this.#addComputed(sum, value, offset, factor)
    );
  }

  #addComputed(sum: Progression, value: number, offset: number, factor: number): boolean {
    const { definition, left, leftOffset, leftLocal, right, rightOffset, rightLocal } = this.#values;
    sum.end.constant = (sum.end.constant + Math.imul(offset, factor)) | 0;
    switch (definition[value]) {
      case Definition.Sum:
        return (
          this.#add(sum, left[value], leftOffset[value], factor, leftLocal[value]) &&
          this.#add(sum, right[value], rightOffset[value], factor, rightLocal[value])
        );
      case Definition.Product:
        return this.#add(
          sum,
          left[value],
          leftOffset[value],
          Math.imul(factor, right[value]),
          leftLocal[value],
        );
      default:
        return false;
    }
  }

  #addLocal(sum: Progression, value: number, offset: number, factor: number, local: number): boolean {
    const values = this.#values;
    if (local < 0 || this.locals[local] !== I32) return false;
    if (sum.end.terms.length === MOST_TERMS) return false;
    let constant = offset;
    if (values.localTime[local] <= this.#startTime) {
      // The loop does not change the local.
      if (values.localValue[local] !== value) return false;
      constant = (offset - values.localOffset[local]) | 0;
    } else if (!this.#isHeaderValueOf(value, local) || !this.#addStride(sum.stride, value, factor, local))
      return false;
    sum.end.terms.push({ local, factor });
    sum.end.constant = (sum.end.constant + Math.imul(constant, factor)) | 0;
    return true;
  }

  /**
   * Adds the change per trip of a local that held `value` at the start of the trip. Returns false if the change is not
   * constant.
   */
  #addStride(stride: LinearForm, value: number, factor: number, local: number): boolean {
    const values = this.#values;
    const after = values.localValue[local];
    const constant = values.localOffset[local];
    if (after === value) {
      stride.constant = (stride.constant + Math.imul(constant, factor)) | 0;
      return true;
    }
    if (after === 0 || values.definition[after] !== Definition.Sum) return false;
    // local + step; the step is a local that the loop does not change
    const swapped = values.right[after] === value;
    if (!swapped && values.left[after] !== value) return false;
    const step = swapped ? values.left[after] : values.right[after];
    const stepLocal = swapped ? values.leftLocal[after] : values.rightLocal[after];
    if (step === value || stepLocal < 0 || this.locals[stepLocal] !== I32) return false;
    if (values.localTime[stepLocal] > this.#startTime || values.localValue[stepLocal] !== step) return false;
    const offsets = values.leftOffset[after] + values.rightOffset[after] - values.localOffset[stepLocal];
    stride.terms.push({ local: stepLocal, factor });
    stride.constant = (stride.constant + Math.imul((offsets + constant) | 0, factor)) | 0;
    return true;
  }

  #isHeaderValueOf(value: number, local: number): boolean {
    const values = this.#values;
    return (
      value > this.#valuesAtHeader &&
      values.origin[value] === local &&
      values.originTime[value] <= this.#startTime
    );
  }

  /**
   * Returns an i32 local whose distance determines the number of trips, −1 if there is none. An address cannot wrap
   * around the address space, nor can a part of it that moves no faster. Any other variable must move by such small
   * steps that it does not wrap within the life of a program.
   */
  #findInduction({ end, stride }: Progression): number {
    const values = this.#values;
    if (stride.terms.length === 0)
      for (const { local } of end.terms) {
        const value = values.localValue[local];
        const step = Math.abs(values.localOffset[local]);
        if (step === 0 || step > Math.abs(stride.constant) || values.localTime[local] <= this.#startTime)
          continue;
        if (value !== 0 && this.#isHeaderValueOf(value, local)) return local;
      }
    for (let i = this.#startTime; i < values.time; i++) {
      const local = values.log[i];
      if (this.locals[local] !== I32) continue;
      const value = values.localValue[local];
      const step = Math.abs(values.localOffset[local]);
      if (value !== 0 && step > 0 && step <= LONGEST_COUNTING_STEP && this.#isHeaderValueOf(value, local))
        return local;
    }
    return -1;
  }
}

export function isZero(form: LinearForm): boolean {
  return form.terms.length === 0 && form.constant === 0;
}
