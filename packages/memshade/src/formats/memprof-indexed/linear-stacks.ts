import { FormatError } from "../../bytes/errors.ts";
import type { StackTree } from "../../model/memprof/index.ts";

const CONSTRUCT = "call stack array";

/** Stacks that share no tails take this many steps per element at most; more means that the file is made to. */
const MOST_STEPS_PER_ELEMENT = 64;
const STEPS_FOR_FREE = 1 << 20;

/**
 * Decodes stacks of the call stack array (versions 3 and 4). What stacks share is decoded once.
 */
export class LinearStacks {
  private readonly view: DataView;
  private readonly start: number;
  private readonly length: number;
  private readonly frames: readonly number[];
  private readonly tree: StackTree;
  /** For each element that is a frame: the stack from there to the root, and how many frames that is. */
  private readonly stackAt: Uint32Array;
  private readonly depthAt: Uint32Array;
  private stepsLeft: number;

  /** The array occupies the bytes from `start` to before `end`. */
  constructor(bytes: Uint8Array, start: number, end: number, frames: readonly number[], tree: StackTree) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.start = start;
    this.length = Math.floor((end - start) / 4);
    this.frames = frames;
    this.tree = tree;
    this.stackAt = new Uint32Array(this.length);
    this.depthAt = new Uint32Array(this.length);
    this.stepsLeft = STEPS_FOR_FREE + MOST_STEPS_PER_ELEMENT * this.length;
  }

  /** The stack that begins at an element. */
  at(index: number): number {
    const count = this.element(index) >>> 0;
    if (count > this.length) throw this.error(index, `a stack of ${count} frames`);
    const path: number[] = [];
    let position = index + 1;
    let stack = 0;
    for (let left = count; left > 0; left--) {
      let element = this.element(position);
      if (element < 0) {
        position -= element;
        element = this.element(position);
      }
      if (element < 0 || element >= this.frames.length) {
        throw this.error(position, `frame ${element} of ${this.frames.length}`);
      }
      if (this.depthAt[position] === left) {
        stack = this.stackAt[position]!;
        break;
      }
      path.push(position++);
    }
    this.stepsLeft -= path.length;
    if (this.stepsLeft < 0) throw this.error(index, "the stacks are longer than any profile's");
    const depth = count - path.length;
    for (let at = path.length - 1; at >= 0; at--) {
      const place = path[at]!;
      stack = this.tree.child(stack, this.frames[this.element(place)]!);
      this.stackAt[place] = stack;
      this.depthAt[place] = depth + path.length - at;
    }
    return stack;
  }

  private element(index: number): number {
    if (index >= this.length) throw this.error(index, `element ${index} of ${this.length}`);
    return this.view.getInt32(this.start + 4 * index, true);
  }

  private error(index: number, detail: string): FormatError {
    return new FormatError("malformed", this.start + 4 * Math.min(index, this.length), CONSTRUCT, detail);
  }
}
