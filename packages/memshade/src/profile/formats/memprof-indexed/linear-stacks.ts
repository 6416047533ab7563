import { FormatError } from "../../../ground/bytes/errors.ts";
import type { Window } from "../../../ground/bytes/window.ts";

const CONSTRUCT = "call stack array";

/** Bound on the decoding steps per element, reached if stacks share no tails. Only a crafted file needs more. */
const MOST_STEPS_PER_ELEMENT = 64;
const STEPS_FOR_FREE = 1 << 20;
/** Steps per element after which remembering the stacks of all elements is cheaper. */
const STEPS_PER_ELEMENT_BEFORE_ALL = 16;
/** Initial number of elements whose stacks are remembered: a power of two. */
const REMEMBERED = 1 << 16;

export type ChildStack = (parent: number, frame: number) => number;

/** Decodes stacks of the call stack array (versions 3 and 4). A shared part is decoded once, or a few times. */
export class LinearStacks {
  readonly #elements: ElementPages;
  readonly #start: number;
  readonly #length: number;
  readonly #frameCount: number;
  readonly #child: ChildStack;
  /** Cache by element: the element, the stack from there to the root, and the number of its frames. */
  #elementOf = new Uint32Array(REMEMBERED).fill(0xffffffff);
  #stackAt = new Uint32Array(REMEMBERED);
  #depthAt = new Uint32Array(REMEMBERED);
  /** Mask of an element's number: its last bits are its position in the cache. */
  #mask = REMEMBERED - 1;
  #steps = 0;
  readonly #path: number[] = [];
  readonly #pathFrames: number[] = [];

  /** @param end offset after the array, which begins at `start` */
  constructor(file: Window, start: number, end: number, frameCount: number, child: ChildStack) {
    this.#elements = new ElementPages(file.another(), start);
    this.#start = start;
    this.#length = Math.floor((end - start) / 4);
    this.#frameCount = frameCount;
    this.#child = child;
  }

  at(index: number): number {
    const count = this.#element(index) >>> 0;
    if (count > this.#length) throw this.#error(index, `a stack of ${count} frames`);
    const path = this.#path;
    const pathFrames = this.#pathFrames;
    const elementOf = this.#elementOf;
    const stackAt = this.#stackAt;
    const depthAt = this.#depthAt;
    const mask = this.#mask;
    let steps = 0;
    let position = index + 1;
    let stack = 0;
    for (let remaining = count; remaining > 0; remaining--) {
      let element = this.#element(position);
      if (element < 0) {
        position -= element;
        element = this.#element(position);
      }
      if (element < 0 || element >= this.#frameCount)
        throw this.#error(position, `frame ${element} of ${this.#frameCount}`);
      const slot = position & mask;
      if (elementOf[slot] === position && depthAt[slot] === remaining) {
        stack = stackAt[slot]!;
        break;
      }
      path[steps] = position++;
      pathFrames[steps++] = element;
    }
    const depth = count - steps;
    for (let at = steps - 1; at >= 0; at--) {
      const place = path[at]!;
      const slot = place & mask;
      stack = this.#child(stack, pathFrames[at]!);
      elementOf[slot] = place;
      stackAt[slot] = stack;
      depthAt[slot] = depth + steps - at;
    }
    this.#countSteps(steps, index);
    return stack;
  }

  /** Yields the frames of a stack, leaf first. `at` must have checked the stack. */
  *framesAt(index: number): Generator<number, void, undefined> {
    let position = index + 1;
    for (let remaining = this.#element(index) >>> 0; remaining > 0; remaining--) {
      let element = this.#element(position);
      if (element < 0) {
        position -= element;
        element = this.#element(position);
      }
      yield element;
      position++;
    }
  }

  #countSteps(steps: number, index: number): void {
    this.#steps += steps;
    const perElement = (this.#steps - STEPS_FOR_FREE) / this.#length;
    if (perElement > MOST_STEPS_PER_ELEMENT)
      throw this.#error(index, "the stacks are longer than any profile's");
    if (perElement > STEPS_PER_ELEMENT_BEFORE_ALL && this.#mask < this.#length) this.#rememberAll();
  }

  #rememberAll(): void {
    const size = 2 ** Math.ceil(Math.log2(this.#length + 1));
    this.#elementOf = new Uint32Array(size).fill(0xffffffff);
    this.#stackAt = new Uint32Array(size);
    this.#depthAt = new Uint32Array(size);
    this.#mask = size - 1;
  }

  #element(index: number): number {
    if (index >= this.#length) throw this.#error(index, `element ${index} of ${this.#length}`);
    return this.#elements.get(index);
  }

  #error(index: number, detail: string): FormatError {
    return new FormatError("malformed", this.#start + 4 * Math.min(index, this.#length), CONSTRUCT, detail);
  }
}

const PAGE_BITS = 14;
const PAGE_ELEMENTS = 1 << PAGE_BITS;
const MOST_PAGES = 128;

/** Elements of the array. A few recently used pages are in memory (second-chance replacement). */
class ElementPages {
  readonly #file: Window;
  readonly #start: number;
  readonly #pages: (Int32Array | undefined)[] = [];
  /** Page in each slot, and whether it was used since it was last considered for replacement. */
  readonly #held: number[] = [];
  readonly #wasUsed: boolean[] = [];
  #turn = 0;
  #current = -1;
  #currentPage: Int32Array = new Int32Array(0);

  constructor(file: Window, start: number) {
    this.#file = file;
    this.#start = start;
  }

  get(index: number): number {
    const number = index >>> PAGE_BITS;
    if (number !== this.#current) this.#goTo(number);
    return this.#currentPage[index & (PAGE_ELEMENTS - 1)]!;
  }

  #goTo(number: number): void {
    let page = this.#pages[number];
    if (page === undefined) page = this.#read(number);
    else this.#wasUsed[this.#held.indexOf(number)] = true;
    this.#current = number;
    this.#currentPage = page;
  }

  #read(number: number): Int32Array {
    const offset = this.#start + 4 * number * PAGE_ELEMENTS;
    const size = Math.min(4 * PAGE_ELEMENTS, this.#file.size - offset);
    const at = this.#file.at(offset, size);
    const { view } = this.#file;
    const place = this.#placeOfNext();
    const gone = this.#pages[this.#held[place] ?? -1];
    if (gone !== undefined) this.#pages[this.#held[place]!] = undefined;
    const page = gone ?? new Int32Array(PAGE_ELEMENTS);
    for (let index = 0; index < size >> 2; index++) page[index] = view.getInt32(at + 4 * index, true);
    this.#pages[number] = page;
    this.#held[place] = number;
    this.#wasUsed[place] = true;
    return page;
  }

  #placeOfNext(): number {
    if (this.#held.length < MOST_PAGES) return this.#held.length;
    while (this.#wasUsed[this.#turn]) {
      this.#wasUsed[this.#turn] = false;
      this.#turn = (this.#turn + 1) % MOST_PAGES;
    }
    return this.#turn;
  }
}
