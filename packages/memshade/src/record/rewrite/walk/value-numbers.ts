import { grown } from "../../../ground/bytes/columns.ts";

/** Known facts about the address that a value is. */
export const ValueClass = {
  Unknown: 0,
  /** Derived from the stack pointer by constants alone. */
  Stack: 1,
} as const;

export const Definition = {
  None: 0,
  Sum: 1,
  /** left × the constant in `right` */
  Product: 2,
} as const;

/** Value number of every constant; the offset is its value. */
export const CONSTANT = 1;

/**
 * Value numbers of one function. A value is a number (its base) plus a constant offset; equal bases mean equal values.
 * A local loses its number where control flow may bring another value. The next read gives it a new number.
 */
export class ValueNumbers {
  last = CONSTANT;
  classes = new Uint8Array(4096);
  origin = new Int32Array(4096);
  /** Number of assignments before the local's value was set. */
  originTime = new Int32Array(4096);
  /** Computation of a number, if followed: `Definition`, and the operands with their offsets. */
  definition = new Uint8Array(4096);
  left = new Int32Array(4096);
  leftOffset = new Int32Array(4096);
  /** Second operand, or the factor of a product. */
  right = new Int32Array(4096);
  rightOffset = new Int32Array(4096);
  /** Locals from which the operands were read, −1 if none. */
  leftLocal = new Int32Array(4096);
  rightLocal = new Int32Array(4096);
  localValue: Int32Array = new Int32Array(256);
  localOffset: Int32Array = new Int32Array(256);
  /** Number of all assignments, in program order, up to the local's last one. */
  localTime: Int32Array = new Int32Array(256);
  log: Int32Array = new Int32Array(1024);
  time = 0;

  reset(localCount: number): void {
    this.last = CONSTANT;
    this.time = 0;
    if (localCount > this.localValue.length) {
      this.localValue = new Int32Array(localCount * 2);
      this.localOffset = new Int32Array(localCount * 2);
      this.localTime = new Int32Array(localCount * 2);
    } else {
      this.localValue.fill(0, 0, localCount);
      this.localTime.fill(0, 0, localCount);
    }
  }

  fresh(valueClass: number, origin: number): number {
    const number = ++this.last;
    if (number === this.classes.length) this.#grow();
    this.classes[number] = valueClass;
    this.origin[number] = origin;
    this.originTime[number] = origin >= 0 ? this.localTime[origin] : 0;
    this.definition[number] = Definition.None;
    return number;
  }

  /** Returns the number of the sum of the operands at `left` and `left + 1` of the stack. */
  sum(stack: OperandStack, left: number): number {
    const number = this.fresh(ValueClass.Unknown, -1);
    this.definition[number] = Definition.Sum;
    this.#setLeft(number, stack, left);
    this.right[number] = stack.value[left + 1];
    this.rightOffset[number] = stack.offset[left + 1];
    this.rightLocal[number] = stack.holder(left + 1, this);
    return number;
  }

  /** Returns the number of the operand at `left` of the stack times a constant. */
  product(stack: OperandStack, left: number, factor: number): number {
    const number = this.fresh(ValueClass.Unknown, -1);
    this.definition[number] = Definition.Product;
    this.#setLeft(number, stack, left);
    this.right[number] = factor;
    return number;
  }

  #setLeft(number: number, stack: OperandStack, left: number): void {
    this.left[number] = stack.value[left];
    this.leftOffset[number] = stack.offset[left];
    this.leftLocal[number] = stack.holder(left, this);
  }

  /** Returns the number of a local. Makes a new one if it has none. */
  read(local: number): number {
    const existing = this.localValue[local];
    if (existing !== 0) return existing;
    const number = this.fresh(ValueClass.Unknown, local);
    this.localValue[local] = number;
    this.localOffset[local] = 0;
    return number;
  }

  assign(local: number, number: number, offset: number): void {
    this.localValue[local] = number;
    this.localOffset[local] = offset;
    if (this.time === this.log.length) this.log = grown(this.log, this.log.length * 2);
    this.log[this.time] = local;
    this.localTime[local] = ++this.time;
  }

  forgetSince(time: number): void {
    for (let i = time; i < this.time; i++) this.localValue[this.log[i]] = 0;
  }

  #grow(): void {
    const size = this.classes.length * 2;
    const classes = new Uint8Array(size);
    classes.set(this.classes);
    this.classes = classes;
    const definition = new Uint8Array(size);
    definition.set(this.definition);
    this.definition = definition;
    this.left = grown(this.left, size);
    this.leftOffset = grown(this.leftOffset, size);
    this.right = grown(this.right, size);
    this.rightOffset = grown(this.rightOffset, size);
    this.leftLocal = grown(this.leftLocal, size);
    this.rightLocal = grown(this.rightLocal, size);
    this.origin = grown(this.origin, size);
    this.originTime = grown(this.originTime, size);
  }
}

/** `local` of a value that no local holds. */
export const NO_LOCAL = -1;
/** `produced` of a value that was never on top of the stack. */
export const BURIED = -1;

/** Simulated operand stack of one function, as columns. Heights start at 0 in the function's outermost block. */
export class OperandStack {
  depth = 0;
  /** Value number of the base; 0 if none was assigned yet. */
  value = new Int32Array(1024);
  offset = new Int32Array(1024);
  /**
   * End of the instruction that produced the value: the position at which it can be copied to a temporary. `BURIED` for
   * a value that was covered by others from the start.
   */
  produced = new Int32Array(1024);
  /** Local that holds the whole value, if it was just read from or written to one. */
  local = new Int32Array(1024);
  /** Number of assignments when that local held the value. */
  localTime = new Int32Array(1024);
  /** 1 if a temporary of this height holds the value. */
  hasTemporary = new Uint8Array(1024);

  push(value: number, offset: number, produced: number, local: number, localTime: number): void {
    const at = this.depth++;
    if (at === this.value.length) this.#grow();
    this.value[at] = value;
    this.offset[at] = offset;
    this.produced[at] = produced;
    this.local[at] = local;
    this.localTime[at] = localTime;
    this.hasTemporary[at] = 0;
  }

  /** Pushes a value without known facts. */
  pushResult(produced: number): void {
    const at = this.depth++;
    if (at === this.value.length) this.#grow();
    this.value[at] = 0;
    this.offset[at] = 0;
    this.produced[at] = produced;
    this.local[at] = NO_LOCAL;
    this.hasTemporary[at] = 0;
  }

  pushUnknown(count: number, produced: number): void {
    for (let i = 1; i <= count; i++) this.push(0, 0, i === count ? produced : BURIED, NO_LOCAL, 0);
  }

  /** Returns the local that still holds the value at `at`, or `NO_LOCAL`. */
  holder(at: number, values: ValueNumbers): number {
    const local = this.local[at];
    return local >= 0 && values.localTime[local] === this.localTime[at] ? local : NO_LOCAL;
  }

  #grow(): void {
    const size = this.value.length * 2;
    this.value = grown(this.value, size);
    this.offset = grown(this.offset, size);
    this.produced = grown(this.produced, size);
    this.local = grown(this.local, size);
    this.localTime = grown(this.localTime, size);
    const hasTemporary = new Uint8Array(size);
    hasTemporary.set(this.hasTemporary);
    this.hasTemporary = hasTemporary;
  }
}
