import { RA_SIGN_STATE } from "../architecture.ts";

export const CFA_RULE = { unknown: 0, register: 1, expression: 2 } as const;

/**
 * Kinds of rules by which a register of the caller is recovered. A register without a rule is unspecified.
 *
 * | rule | value of the register | operand |
 * |---|---|---|
 * | undefined | lost; for the return address: the frame is the outermost | – |
 * | same | same as in this frame | – |
 * | offset | saved at CFA + operand | bytes |
 * | valOffset | CFA + operand | bytes |
 * | register | value of another register in this frame | its number |
 * | expression | saved at the address that an expression gives | its number |
 * | valExpression | result of an expression | its number |
 * | unknown | there is a rule, but it cannot be represented | – |
 * | constant | operand itself; only for the pseudo register RA_SIGN_STATE | value |
 */
export const RULE = {
  undefined: 1,
  same: 2,
  offset: 3,
  valOffset: 4,
  register: 5,
  expression: 6,
  valExpression: 7,
  unknown: 8,
  constant: 9,
} as const;

/** Properties of a row that come from the augmentation of its CIE. */
export const ROW_FLAG = { signalFrame: 1, signedWithKeyB: 2 } as const;

/** Registers from this number on have no rules; the vector registers of AArch64 end at 127. */
export const MAX_REGISTERS = 128;

/**
 * Dictionary of rule sets, each stored once and referred to by its index. A set is a run of words in `words`:
 *
 *     flags | return address column << 8
 *     kind of the CFA's rule | register << 8
 *     offset of the CFA, or the number of its expression
 *     then per register with a rule, by ascending number:  register << 8 | rule,  operand
 *
 * Set 0 is empty ("no rule here"). A new set differs from an old one in one rule. Equal sets get equal indices, in
 * whatever order their rules were added.
 */
export class RuleSets {
  /** Words of all sets, one set after the other. */
  words = new Int32Array(1024);
  /** `starts[i]`: index of set i's first word; `starts[count]` is the end of the last set. */
  starts = new Uint32Array(256);
  count = 1;
  /** Number of sets refused because the dictionary was full; set 0 replaces them. */
  refused = 0;

  readonly #maxWords: number;
  /** Open addressing: hash of a set → its index + 1. */
  #slots = new Int32Array(1024);
  #scratch = new Int32Array(3 + 2 * MAX_REGISTERS);
  #scratchLength = 0;

  /** @param maxWords limit for the size of all sets together, so that damaged input cannot fill the memory */
  constructor(maxWords = 1 << 22) {
    this.#maxWords = maxWords;
    this.starts[1] = 3;
    this.#slots[this.#slotOf(0, 0, 3)] = 1;
  }

  /** Returns a set without rules, with the properties that a CIE gives to all rows of its FDEs. */
  ofCie(flags: number, returnAddress: number): number {
    this.#scratch.fill(0, 0, 3);
    this.#scratch[0] = flags | (returnAddress << 8);
    this.#scratchLength = 3;
    return this.#intern();
  }

  flags(set: number): number {
    return this.words[this.starts[set]] & 0xff;
  }

  returnAddress(set: number): number {
    return this.words[this.starts[set]] >>> 8;
  }

  cfaRule(set: number): number {
    return this.words[this.starts[set] + 1] & 0xff;
  }

  /**
   * Returns the base register of the CFA if its rule is `CFA_RULE.register`; for an expression, the offset
   * kept for a later register rule.
   */
  cfaRegister(set: number): number {
    return this.words[this.starts[set] + 1] >>> 8;
  }

  cfaOperand(set: number): number {
    return this.words[this.starts[set] + 2];
  }

  /**
   * Returns the index in `words` of a register's rule, or -1: `words[i] & 0xff` is the rule, `words[i + 1]`
   * its operand.
   */
  find(set: number, register: number): number {
    const { words } = this;
    const end = this.starts[set + 1];
    for (let i = this.starts[set] + 3; i < end; i += 2) {
      const found = words[i] >>> 8;
      if (found >= register) return found === register ? i : -1;
    }
    return -1;
  }

  withCfa(set: number, rule: number, register: number, operand: number): number {
    this.#load(set);
    this.#scratch[1] = rule | (register << 8);
    this.#scratch[2] = operand;
    return this.#intern();
  }

  withRule(set: number, register: number, rule: number, operand: number): number {
    // The condition treats NaN as too large.
    if (!(register < MAX_REGISTERS)) return set;
    const at = this.#open(set, register);
    this.#scratch[at] = rule | (register << 8);
    this.#scratch[at + 1] = operand;
    return this.#intern();
  }

  withoutRule(set: number, register: number): number {
    if (this.find(set, register) < 0) return set;
    this.#load(set);
    const scratch = this.#scratch;
    let at = 3;
    while (scratch[at] >>> 8 !== register) at += 2;
    this.#scratchLength -= 2;
    for (let i = at; i < this.#scratchLength; i++) scratch[i] = scratch[i + 2];
    return this.#intern();
  }

  /** Gives a register the rule that it has in another set, like `DW_CFA_restore`. */
  withRuleOf(set: number, register: number, other: number): number {
    const at = this.find(other, register);
    if (at < 0) return this.withoutRule(set, register);
    return this.withRule(set, register, this.words[at] & 0xff, this.words[at + 1]);
  }

  /** Flips bits of the pseudo register with the signing state of the return address. */
  withSignStateFlipped(set: number, bits: number): number {
    const at = this.find(set, RA_SIGN_STATE);
    const value = (at < 0 ? 0 : this.words[at + 1]) ^ bits;
    if (value === 0) return this.withoutRule(set, RA_SIGN_STATE);
    return this.withRule(set, RA_SIGN_STATE, RULE.constant, value);
  }

  /** Adds a set of another dictionary, with the rules of the registers that `keep` accepts. */
  addReduced(from: RuleSets, set: number, keep: (register: number) => boolean): number {
    const { words } = from;
    const start = from.starts[set];
    const end = from.starts[set + 1];
    const scratch = this.#scratch;
    for (let i = 0; i < 3; i++) scratch[i] = words[start + i];
    let length = 3;
    for (let i = start + 3; i < end; i += 2) {
      if (!keep(words[i] >>> 8)) continue;
      scratch[length++] = words[i];
      scratch[length++] = words[i + 1];
    }
    this.#scratchLength = length;
    return this.#intern();
  }

  #load(set: number): void {
    const { words } = this;
    const scratch = this.#scratch;
    const start = this.starts[set];
    const length = this.starts[set + 1] - start;
    // Sets have about ten words: a loop is faster than a copying call.
    for (let i = 0; i < length; i++) scratch[i] = words[start + i];
    this.#scratchLength = length;
  }

  #open(set: number, register: number): number {
    this.#load(set);
    const scratch = this.#scratch;
    let at = 3;
    while (at < this.#scratchLength && scratch[at] >>> 8 < register) at += 2;
    if (at < this.#scratchLength && scratch[at] >>> 8 === register) return at;
    for (let i = this.#scratchLength - 1; i >= at; i--) scratch[i + 2] = scratch[i];
    this.#scratchLength += 2;
    return at;
  }

  #hash(words: Int32Array, start: number, end: number): number {
    let hash = 0x2545f491;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ words[i], 0x9e3779b1) ^ (hash >>> 15);
    return hash ^ (hash >>> 16);
  }

  /** Finds the slot for the set `words[start, end)` with that index. */
  #slotOf(index: number, start: number, end: number): number {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(this.words, start, end) & mask;
    while (this.#slots[slot] !== 0 && this.#slots[slot] !== index + 1) slot = (slot + 1) & mask;
    return slot;
  }

  #intern(): number {
    const scratch = this.#scratch;
    const length = this.#scratchLength;
    const mask = this.#slots.length - 1;
    let slot = this.#hash(scratch, 0, length) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const candidate = this.#slots[slot] - 1;
      if (this.#equalsScratch(candidate)) return candidate;
    }
    const start = this.starts[this.count];
    if (start + length > this.#maxWords) {
      this.refused++;
      return 0;
    }
    const index = this.count++;
    if (start + length > this.words.length) this.words = enlarged(this.words, start + length);
    if (this.count + 1 > this.starts.length) this.starts = enlarged(this.starts, this.count + 1);
    for (let i = 0; i < length; i++) this.words[start + i] = scratch[i];
    this.starts[this.count] = start + length;
    this.#slots[slot] = index + 1;
    if (this.count * 2 > this.#slots.length) this.#rehash();
    return index;
  }

  #equalsScratch(set: number): boolean {
    const start = this.starts[set];
    const length = this.starts[set + 1] - start;
    if (length !== this.#scratchLength) return false;
    for (let i = 0; i < length; i++) if (this.words[start + i] !== this.#scratch[i]) return false;
    return true;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let set = 0; set < this.count; set++)
      this.#slots[this.#slotOf(set, this.starts[set], this.starts[set + 1])] = set + 1;
  }
}

function enlarged<T extends Int32Array | Uint32Array>(array: T, needed: number): T {
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, array.length * 2));
  larger.set(array);
  return larger;
}
