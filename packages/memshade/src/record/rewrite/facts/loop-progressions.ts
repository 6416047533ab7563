import { I32, type ValType } from "../../../code/wasm/index.ts";
import type { ControlStack } from "../walk/control-stack.ts";
import { Definition, type ValueNumbers } from "../walk/value-numbers.ts";
import type { Insertions } from "../write/insertions.ts";
import type { LinearForm } from "../write/linear-form.ts";
import { loopTemporary, type Temporaries } from "../write/temporaries.ts";
import { addTrip, clearLocal, copyLocal, tripsFromDistance } from "../write/trip-counts.ts";

/** An address as the locals give it when the loop has ended, and how far one trip moved it. */
export interface Progression {
  /** The address one stride behind the last trip's. */
  end: LinearForm;
  stride: LinearForm;
}

/** Steps of variables that are no addresses: 2^32 / 4 trips of one loop before one of them wraps. */
const LONGEST_COUNTING_STEP = 4;
/** Sums of more locals than this are not followed. */
const MOST_TERMS = 4;

/**
 * Follows the addresses of a loop that is one basic block: what moves by the same distance each trip, or not at all, is
 * known from the locals when the loop has ended. Addresses may be sums of locals times constants. The number of trips
 * comes from how far an induction variable went, so the loop itself may need no extra instruction.
 */
export class LoopProgressions {
  readonly #insertions: Insertions;
  readonly #values: ValueNumbers;
  /** Types of the function's locals: only those of type i32 are followed. */
  locals: ArrayLike<ValType> = [];
  #startTime = 0;
  #valuesAtHeader = 0;

  constructor(insertions: Insertions, values: ValueNumbers) {
    this.#insertions = insertions;
    this.#values = values;
  }

  /** The innermost block of `control` is the loop asked about from now on. */
  begin(control: ControlStack): void {
    this.#startTime = control.startTime[control.top];
    this.#valuesAtHeader = control.loopValues[control.top];
  }

  /** How the place `base + offset` moves; undefined if it cannot be followed. `holder`: a local that held the base. */
  of(base: number, offset: number, holder: number): Progression | undefined {
    const progression: Progression = { end: { terms: [], constant: 0 }, stride: { terms: [], constant: 0 } };
    return this.#add(progression, base, offset, 1, holder) ? progression : undefined;
  }

  /** Has the trips counted; `end` is the offset behind the loop. Returns the local that holds their number there. */
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

  /** Adds `(value + offset) × factor`; false if it cannot be followed. `holder`: a local that held the value, or −1. */
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

  /** Adds what one trip adds to a local that held `value` when the trip began; false if that is not one amount. */
  #addStride(stride: LinearForm, value: number, factor: number, local: number): boolean {
    const values = this.#values;
    const after = values.localValue[local];
    const constant = values.localOffset[local];
    if (after === value) {
      stride.constant = (stride.constant + Math.imul(constant, factor)) | 0;
      return true;
    }
    if (after === 0 || values.definition[after] !== Definition.Sum) return false;
    // local + step, where the step is a local that the loop does not change
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

  /** Whether `value` is what the local held when a trip began. */
  #isHeaderValueOf(value: number, local: number): boolean {
    const values = this.#values;
    return (
      value > this.#valuesAtHeader &&
      values.origin[value] === local &&
      values.originTime[value] <= this.#startTime
    );
  }

  /**
   * An i32 local whose distance tells the number of trips, −1 if there is none. An address cannot go around the whole
   * address space, nor can what it is made of and moves no faster; any other variable must move by so little that it does
   * not within the life of a program.
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
