import { readU32Leb, skipLeb32 } from "../../../bytes/leb128.ts";
import type { ControlStack } from "../../../rewrite/walk/control-stack.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { AccessCount } from "./access-count.ts";

/**
 * Which code is run as often as other code: the parts of a function whose accesses one insertion can count. A region
 * goes on behind a block that is only left at its end, if no interval can end inside.
 *
 * Frames of the control stack are noticed when something happens in them: only loops and the like tell that they begin.
 */
export class CountRegions {
  readonly #bytes: () => Uint8Array;
  /** What counts the accesses of the region at hand; undefined if nothing does yet. */
  current: AccessCount | undefined;
  /** The region that ended last, when a block with a condition may follow. */
  #ended: AccessCount | undefined;
  #barriersThen = 0;
  // Per frame that was noticed: where it began, the region before it and what could end an interval until then.
  #start = new Int32Array(64).fill(-1);
  readonly #before: (AccessCount | undefined)[] = [];
  #barriers = new Int32Array(64);
  /** Whether a path leads from inside to somewhere else than the frame's end. */
  #escapes = new Uint8Array(64);

  constructor(bytes: () => Uint8Array) {
    this.#bytes = bytes;
  }

  begin(): void {
    this.current = undefined;
    this.#ended = undefined;
    this.#barriersThen = 0;
    this.#start.fill(-1);
  }

  /** A basic block ends where `barriers` places were seen at which an interval may end. */
  endBlock(control: ControlStack, barriers: number): void {
    this.#notice(control, barriers);
    this.#ended = this.current;
    this.#barriersThen = barriers;
    this.current = undefined;
  }

  /** A call that came back: what follows runs as often as what was before, unless the interval may have ended. */
  goOn(control: ControlStack, barriers: number): void {
    this.#notice(control, barriers);
  }

  /** Paths join at the instruction at `position`, the end of the innermost frame or of one of its arms. A block has ended. */
  merge(control: ControlStack, barriers: number, position: number): void {
    const { top } = control;
    const isEnd = this.#bytes()[position] !== Op.ELSE;
    if (isEnd && this.#escapes[top] === 0 && this.#barriers[top] === barriers)
      this.current = this.#before[top];
  }

  /** The innermost frame is a loop that is left only at its end. */
  leaveLoop(control: ControlStack, barriers: number): void {
    const { top } = control;
    if (this.#escapes[top] === 0 && this.#barriers[top] === barriers) this.current = this.#before[top];
  }

  /** The instruction with labels at `start`. */
  branch(control: ControlStack, barriers: number, start: number): void {
    this.#notice(control, barriers);
    const bytes = this.#bytes();
    const opcode = bytes[start];
    let outermost = control.top;
    if (opcode === Op.BR || opcode === Op.BR_IF) outermost = readU32Leb(bytes, start + 1);
    else if (opcode === Op.BR_TABLE) {
      let at = skipLeb32(bytes, start + 1);
      outermost = 0;
      for (let left = readU32Leb(bytes, start + 1); left >= 0; left--, at = skipLeb32(bytes, at))
        outermost = Math.max(outermost, readU32Leb(bytes, at));
    }
    this.#escape(control, outermost);
  }

  /** The function may end here other than by a trap. */
  leave(control: ControlStack, barriers: number): void {
    this.#notice(control, barriers);
    this.#escape(control, control.top);
  }

  #escape({ top }: ControlStack, label: number): void {
    for (let frame = Math.max(0, top - label + 1); frame <= top; frame++) this.#escapes[frame] = 1;
  }

  #notice({ top, start, opcode }: ControlStack, barriers: number): void {
    let frame = top;
    if (frame >= this.#start.length) this.#grow(frame);
    while (frame >= 0 && this.#start[frame] !== start[frame]) frame--;
    while (++frame <= top) {
      // Blocks begin within a region, everything else behind the end of one.
      const isPlain = opcode[frame] === Op.BLOCK;
      this.#start[frame] = start[frame];
      this.#before[frame] = isPlain ? this.current : this.#ended;
      this.#barriers[frame] = isPlain ? barriers : this.#barriersThen;
      this.#escapes[frame] = 0;
    }
  }

  #grow(frame: number): void {
    const size = Math.max(this.#start.length * 2, frame + 1);
    const copy = (from: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
      const to = new Int32Array(size).fill(-1);
      to.set(from);
      return to;
    };
    this.#start = copy(this.#start);
    this.#barriers = copy(this.#barriers);
    const escapes = new Uint8Array(size);
    escapes.set(this.#escapes);
    this.#escapes = escapes;
  }
}
