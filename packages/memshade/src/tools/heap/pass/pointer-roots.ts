import type { WalkState } from "../../../rewrite/tool.ts";
import type { ControlStack } from "../../../rewrite/walk/control-stack.ts";
import { grown } from "../../../rewrite/walk/operand-stack.ts";
import { CONSTANT, Definition, type ValueNumbers } from "../../../rewrite/walk/value-numbers.ts";

/** Sums nested deeper than this are not followed. */
const DEEPEST_SUM = 4;
const NO_SUM = DEEPEST_SUM + 1;
/** A number of its own for every pair of terms: functions have at most 50,000 locals and fewer values than this. */
const TERMS = 0x2000000;

/**
 * Tells which addresses in a loop belong to one object: a base that the loop does not change, a local that the loop only
 * moves (by constants, or by multiples of something), and either of them plus such a distance or plus one another.
 */
export class PointerRoots {
  #values!: ValueNumbers;
  /** Count of assignments when a local was last given something else than itself, moved. */
  #replaced = new Int32Array(256);

  /** A function's walk begins. */
  begin({ values, locals }: WalkState): void {
    this.#values = values;
    if (locals.length > this.#replaced.length) this.#replaced = grown(this.#replaced, locals.length * 2);
    this.#replaced.fill(0, 0, locals.length);
  }

  /** A loop assigns `local` the value number `value`; `valuesAtHeader` is the last number given before the loop. */
  assigned(local: number, value: number, valuesAtHeader: number): void {
    if (value <= valuesAtHeader || this.#localOf(value) !== local)
      this.#replaced[local] = this.#values.time + 1;
  }

  /** The key of the object that the base `value` lies in for all of the loop at index `loop`; 0: it may be several. */
  keyOf(value: number, control: ControlStack, loop: number): number {
    return this.#keyOf(value, control.loopValues[loop], control.startTime[loop], 0);
  }

  #keyOf(value: number, valuesAtHeader: number, startTime: number, depth: number): number {
    if (value <= CONSTANT) return 0;
    if (value <= valuesAtHeader) return value * 2;
    const { origin, definition, left, right } = this.#values;
    const local = origin[value];
    if (local >= 0) return this.#replaced[local] <= startTime ? local * 2 + 1 : 0;
    if (definition[value] !== Definition.Sum || depth > DEEPEST_SUM) return 0;
    const one = left[value];
    const other = right[value];
    if (this.#isMultiple(other, depth)) return this.#keyOf(one, valuesAtHeader, startTime, depth + 1);
    if (this.#isMultiple(one, depth)) return this.#keyOf(other, valuesAtHeader, startTime, depth + 1);
    const first = this.#keyOf(one, valuesAtHeader, startTime, NO_SUM);
    const second = this.#keyOf(other, valuesAtHeader, startTime, NO_SUM);
    if (first === 0 || second === 0) return 0;
    return TERMS * Math.max(first, second) + Math.min(first, second);
  }

  /** The local that a value was, moved; −1 if it is none. */
  #localOf(value: number): number {
    const { origin, definition, left, right } = this.#values;
    if (value <= CONSTANT) return -1;
    if (origin[value] >= 0 || definition[value] !== Definition.Sum) return origin[value];
    if (this.#isMultiple(right[value], 0)) return origin[left[value]];
    return this.#isMultiple(left[value], 0) ? origin[right[value]] : -1;
  }

  /** No pointer is a multiple of something, nor a sum of multiples. */
  #isMultiple(value: number, depth: number): boolean {
    const { definition, left, right } = this.#values;
    if (definition[value] === Definition.Product) return true;
    if (definition[value] !== Definition.Sum || depth > DEEPEST_SUM) return false;
    return this.#isMultiple(left[value], depth + 1) && this.#isMultiple(right[value], depth + 1);
  }
}
