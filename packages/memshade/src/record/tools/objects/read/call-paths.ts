import type { ObjectPaths } from "../../../../profile/model/objects/objects.ts";
import type { StackFrame } from "../../../../profile/model/working-set/working-set.ts";

/** Path of nobody. */
export const NO_PATH = -1;

/** Call paths of all instances of a module: equal ones are one. */
export class CallPaths {
  /** Code offset of the innermost frame, or −1 minus its index in `#others`. */
  readonly #frame: number[] = [];
  readonly #caller: number[] = [];
  readonly #known = new Map<number, number>();
  readonly #others: StackFrame[] = [];
  readonly #otherOfText = new Map<string, number>();

  /** The path to a code offset whose function was called by another path. */
  at(caller: number, offset: number): number {
    const key = (caller + 1) * 2 ** 32 + (offset >>> 0);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const path = this.#frame.push(offset) - 1;
    this.#caller.push(caller);
    this.#known.set(key, path);
    return path;
  }

  /** The path of frames that have no code offset, innermost first. */
  ofOthers(frames: readonly StackFrame[]): number {
    return frames.reduceRight((caller, frame) => {
      const text = JSON.stringify(frame);
      const number = this.#otherOfText.get(text) ?? this.#others.push(frame) - 1;
      this.#otherOfText.set(text, number);
      return this.at(caller, -1 - number);
    }, NO_PATH);
  }

  /** The paths that are used with those of their callers, and what they are called there. `frameAt`: of a code offset. */
  describe(
    used: Iterable<number>,
    frameAt: (offset: number) => StackFrame,
  ): { frames: StackFrame[]; paths: ObjectPaths; numberOf: (path: number) => number } {
    const isUsed = new Uint8Array(this.#frame.length);
    for (const one of used)
      for (let path = one; path >= 0 && isUsed[path] === 0; path = this.#caller[path]) isUsed[path] = 1;
    const numbers = new Int32Array(this.#frame.length).fill(NO_PATH);
    const frames: StackFrame[] = [];
    const frameNumbers = new Map<number, number>();
    const paths: ObjectPaths = { frame: [], caller: [] };
    this.#frame.forEach((frame, path) => {
      if (isUsed[path] === 0) return;
      let number = frameNumbers.get(frame);
      if (number === undefined) {
        number = frames.push(frame < 0 ? this.#others[-1 - frame] : frameAt(frame)) - 1;
        frameNumbers.set(frame, number);
      }
      const caller = this.#caller[path];
      numbers[path] = paths.frame.push(number) - 1;
      paths.caller.push(caller < 0 ? NO_PATH : numbers[caller]);
    });
    return { frames, paths, numberOf: (path) => (path < 0 ? NO_PATH : numbers[path]) };
  }
}
