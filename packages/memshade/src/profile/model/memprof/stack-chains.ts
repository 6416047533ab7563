import { Column, NarrowColumn } from "./column.ts";
import { RankedBits } from "./merge/ranked-bits.ts";
import type { MemprofStacks } from "./profile.ts";

/** Maximum share of used slots; a fuller table has long searches. */
const FULLEST = 0.75;
const GROWTH = 1.5;
const FIRST_SLOTS = 512;

/** Bits of a number in a slot. While numbers are smaller, the remaining bits hold part of the hash. */
const TAG_SHIFT = 26;
const NUMBER_MASK = 2 ** TAG_SHIFT - 1;

/**
 * Slots of an open hash table of numbers from 1. Growing releases the old slots before the new ones are allocated, so
 * the user keeps the keys elsewhere and adds them again.
 *
 * While numbers are small, slots also hold a few bits of the hash: most different keys are then distinguished without
 * reading the keys.
 */
export class SlotTable {
  readonly #slots = new Column();
  #size = FIRST_SLOTS;
  #used = 0;
  /** Mask of a slot's hash bits: 0 once a number needs them. */
  #tagMask = ~NUMBER_MASK;

  /** Returns the first slot in the search for a 32-bit hash. */
  first(hash: number): number {
    return Math.floor(((hash >>> 0) * this.#size) / 2 ** 32);
  }

  next(slot: number): number {
    return slot + 1 === this.#size ? 0 : slot + 1;
  }

  get(slot: number): number {
    return this.#slots.get(slot);
  }

  /** Returns true if a slot's content may belong to a hash. */
  mayHave(content: number, hash: number): boolean {
    return ((content ^ (hash << TAG_SHIFT)) & this.#tagMask) === 0;
  }

  numberIn(content: number): number {
    return (content & ~this.#tagMask) >>> 0;
  }

  /** Fills an empty slot. @returns true if the caller must enlarge the table and add everything again */
  fill(slot: number, value: number, hash: number): boolean {
    if (this.#tagMask !== 0 && value > NUMBER_MASK) {
      this.#tagMask = 0;
      return true;
    }
    this.#slots.set(slot, (value | ((hash << TAG_SHIFT) & this.#tagMask)) >>> 0);
    return ++this.#used > this.#size * FULLEST;
  }

  add(hash: number, value: number): void {
    let slot = this.first(hash);
    while (this.#slots.get(slot) !== 0) slot = this.next(slot);
    this.fill(slot, value, hash);
  }

  enlarge(): void {
    this.release();
    this.#size = Math.ceil(this.#size * GROWTH);
  }

  release(): void {
    this.#slots.release();
    this.#used = 0;
  }
}

/**
 * Growing tree of distinct call stacks (see MemprofStacks), compact for many stacks. A stack that was added directly
 * after its caller continues the caller's chain: its number is the caller's plus 1, and it needs no lookup. Only stacks
 * that begin a chain store their caller and are in a hash table.
 *
 * A stack takes two bytes for its frame (four above 32,768 frames) and a quarter byte, a chain about ten more.
 */
export class StackChains {
  /** Twice the frame, plus 1 for a stack that begins a chain. */
  readonly #frames = new NarrowColumn(2);
  /** Stacks that begin a chain; their ranks are the numbers of the chains. */
  readonly #starts = new RankedBits();
  readonly #callers = new Column();
  readonly #slots = new SlotTable();
  #count = 1;

  constructor() {
    this.#starts.push(false);
  }

  get length(): number {
    return this.#count;
  }

  get chains(): number {
    return this.#starts.count;
  }

  /** Returns the stack of `frame` called from the stack `parent`. */
  child(parent: number, frame: number): number {
    const next = parent + 1;
    if (next < this.#count) {
      if (this.#frames.get(next) === 2 * frame) return next;
    } else if (parent !== 0) {
      // The newest stack has no callees yet.
      return this.#append(frame, false);
    }
    const slots = this.#slots;
    const hash = hashOf(parent, frame);
    for (let slot = slots.first(hash); ; slot = slots.next(slot)) {
      const content = slots.get(slot);
      if (content === 0) return this.#add(parent, frame, slot, hash);
      if (slots.mayHave(content, hash) && this.#isChain(slots.numberIn(content), parent, frame))
        return slots.numberIn(content);
    }
  }

  /** Returns the calling stack; stack 0 is its own caller. */
  parentOf(stack: number): number {
    if (stack === 0) return 0;
    return this.#isStart(stack) ? this.#callers.get(this.#starts.rankOf(stack)) : stack - 1;
  }

  frameOf(stack: number): number {
    return this.#frames.get(stack) >>> 1;
  }

  /** Returns true if the next stack continues the chain of this one. */
  isContinued(stack: number): boolean {
    return stack !== 0 && stack + 1 < this.#count && !this.#isStart(stack + 1);
  }

  chainOf(start: number): number {
    return this.#starts.rankOf(start);
  }

  forEachStart(see: (start: number) => void): void {
    this.#starts.forEach(see);
  }

  branches(): RankedBits {
    const branches = new RankedBits();
    for (let chain = 0; chain < this.#starts.count; chain++) branches.set(this.#callers.get(chain));
    branches.rankAll();
    return branches;
  }

  /** Returns all stacks as plain columns; stack 0 has no frame. */
  flat(): MemprofStacks {
    const parent = new Uint32Array(this.#count);
    const frame = new Uint32Array(this.#count);
    frame[0] = 0xffffffff;
    let chain = 0;
    for (let stack = 1; stack < this.#count; stack++) {
      parent[stack] = this.#isStart(stack) ? this.#callers.get(chain++) : stack - 1;
      frame[stack] = this.frameOf(stack);
    }
    return { length: this.#count, parent, frame };
  }

  /** Releases the lookup table; `child` must not be called afterwards. */
  seal(): void {
    this.#slots.release();
  }

  release(): void {
    this.seal();
    this.#frames.release();
    this.#starts.release();
    this.#callers.release();
    this.#count = 0;
  }

  #isStart(stack: number): boolean {
    return (this.#frames.get(stack) & 1) === 1;
  }

  /** Returns true if a stack that begins a chain is `frame` called from `parent`. */
  #isChain(stack: number, parent: number, frame: number): boolean {
    return (
      this.#frames.get(stack) === 2 * frame + 1 && this.#callers.get(this.#starts.rankOf(stack)) === parent
    );
  }

  #add(parent: number, frame: number, slot: number, hash: number): number {
    const stack = this.#append(frame, true);
    this.#callers.set(this.#starts.count - 1, parent);
    if (this.#slots.fill(slot, stack, hash)) this.#rebuild();
    return stack;
  }

  #append(frame: number, isStart: boolean): number {
    const stack = this.#count++;
    this.#frames.set(stack, 2 * frame + (isStart ? 1 : 0));
    this.#starts.push(isStart);
    return stack;
  }

  #rebuild(): void {
    this.#slots.enlarge();
    let chain = 0;
    this.#starts.forEach((stack) => {
      this.#slots.add(hashOf(this.#callers.get(chain++), this.frameOf(stack)), stack);
    });
  }
}

function hashOf(parent: number, frame: number): number {
  let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
