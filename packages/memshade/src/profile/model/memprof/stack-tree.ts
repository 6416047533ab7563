import type { MemprofStacks } from "./profile.ts";

const EMPTY_SLOT = 0;
const FULLEST = 0.7;

/**
 * Growing tree of distinct call stacks (see MemprofStacks). `child` searches an open hash table of stack numbers whose
 * keys are in the columns. A stack takes 8 bytes and about 8 of table.
 */
export class StackTree {
  #parents: Uint32Array;
  #frames: Uint32Array;
  #slots: Uint32Array;
  #count = 1;

  /** @param capacity initial room in stacks, including the empty one */
  constructor(capacity = 1024) {
    this.#parents = new Uint32Array(capacity);
    this.#frames = new Uint32Array(capacity);
    this.#slots = new Uint32Array(1 << Math.ceil(Math.log2(capacity / FULLEST)));
    this.#frames[0] = 0xffffffff;
  }

  get length(): number {
    return this.#count;
  }

  child(parent: number, frame: number): number {
    const parents = this.#parents;
    const frames = this.#frames;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hashOf(parent, frame) & mask;
    for (;;) {
      const stack = slots[slot]!;
      if (stack === EMPTY_SLOT) return this.#add(parent, frame, slot);
      if (parents[stack] === parent && frames[stack] === frame) return stack;
      slot = (slot + 1) & mask;
    }
  }

  parentOf(stack: number): number {
    return this.#parents[stack]!;
  }

  frameOf(stack: number): number {
    return this.#frames[stack]!;
  }

  /** Returns the current stacks as views, which do not see further growth. */
  view(): MemprofStacks {
    return {
      length: this.#count,
      parent: this.#parents.subarray(0, this.#count),
      frame: this.#frames.subarray(0, this.#count),
    };
  }

  /** Releases the lookup table; `child` must not be called afterwards. */
  seal(): void {
    this.#slots = new Uint32Array(0);
  }

  clear(): void {
    this.seal();
    this.#parents = new Uint32Array(0);
    this.#frames = new Uint32Array(0);
    this.#count = 0;
  }

  #add(parent: number, frame: number, slot: number): number {
    const stack = this.#count++;
    if (stack === this.#parents.length) {
      this.#parents = grown(this.#parents);
      this.#frames = grown(this.#frames);
    }
    this.#parents[stack] = parent;
    this.#frames[stack] = frame;
    this.#slots[slot] = stack;
    if (this.#count > this.#slots.length * FULLEST) this.#enlargeTable();
    return stack;
  }

  #enlargeTable(): void {
    const parents = this.#parents;
    const frames = this.#frames;
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let stack = 1; stack < this.#count; stack++) {
      let slot = hashOf(parents[stack]!, frames[stack]!) & mask;
      while (slots[slot] !== EMPTY_SLOT) slot = (slot + 1) & mask;
      slots[slot] = stack;
    }
    this.#slots = slots;
  }
}

function hashOf(parent: number, frame: number): number {
  let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}

function grown(column: Uint32Array): Uint32Array {
  const larger = new Uint32Array(Math.ceil(column.length * 1.5));
  larger.set(column);
  return larger;
}
