import type { EndReason } from "./frames.ts";
import { type CodePlace, PLACE_RULE, type PlaceCache } from "./place-cache.ts";

const MAX_FRAMES = 10_000;
/** High halves of addresses are smaller. */
const HIGH_LIMIT = 1 << 21;

/**
 * Walks copied stacks of x86-64 samples through places with simple rules, for recordings with very many samples. It
 * follows the program counter, the stack and the frame pointer, and gives up where that is not enough: the `Unwinder`
 * does everything, and gives the same answer where this one gives any.
 */
export class SampleWalker {
  /** The places of the last stack, innermost first. The next walk overwrites them. */
  readonly places: CodePlace[] = [];
  #buffer: ArrayBufferLike | undefined;
  #words: Uint32Array = new Uint32Array(0);

  /**
   * @param framePointer NaN if it is not known, or no address
   * @param stack copy of the stack from the stack pointer on
   * @returns why the stack ends; undefined if it takes an `Unwinder` to tell
   */
  walk(
    cache: PlaceCache,
    programCounter: number,
    stackPointer: number,
    framePointer: number,
    stack: Uint8Array,
  ): EndReason | undefined {
    if (((stack.byteOffset | (stackPointer % 4)) & 3) !== 0) return undefined;
    if (stack.buffer !== this.#buffer) {
      this.#buffer = stack.buffer;
      this.#words = new Uint32Array(stack.buffer, 0, stack.buffer.byteLength >>> 2);
    }
    const words = this.#words;
    const { places } = this;
    const start = stack.byteOffset >>> 2;
    const lastWord = stack.length - 8;
    let sp = stackPointer;
    let fp = framePointer;
    let address = programCounter;
    let lastCfa = Number.NEGATIVE_INFINITY;
    places.length = 0;
    while (places.length < MAX_FRAMES) {
      const place = cache.at(address);
      places.push(place);
      if (place.rule === PLACE_RULE.outermost) return "outermost";
      if (place.rule === PLACE_RULE.other) return undefined;
      const cfa = (place.rule === PLACE_RULE.stackPointer ? sp : fp) + place.cfaOffset;
      // Also false for NaN.
      if (!(cfa > lastCfa) || (cfa & 3) !== 0) return undefined;
      const offset = cfa - 8 - stackPointer;
      if (!(offset >= 0)) return undefined;
      if (offset > lastWord) return "memory";
      if (place.framePointerOffset !== 0) {
        const saved = cfa + place.framePointerOffset - stackPointer;
        if (!(saved >= 0 && saved <= lastWord) || (saved & 3) !== 0) return undefined;
        const at = start + (saved >>> 2);
        fp = words[at + 1] < HIGH_LIMIT ? words[at + 1] * 2 ** 32 + words[at] : Number.NaN;
      }
      const at = start + (offset >>> 2);
      const high = words[at + 1];
      if (high >= HIGH_LIMIT) return undefined;
      const pc = high * 2 ** 32 + words[at];
      if (pc === 0) return "zero";
      address = pc - 1;
      lastCfa = cfa;
      sp = cfa;
    }
    return undefined;
  }
}
