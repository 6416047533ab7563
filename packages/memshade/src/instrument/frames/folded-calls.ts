import type { SnippetSink } from "../snippet-sink.ts";
import type { ToolPass, WalkState } from "../tool-pass.ts";
import { CallFrames, type Frames } from "./call-frames.ts";

/**
 * Functions that tools do not follow because they only pass requests on to the allocator: what else they call runs in the
 * context of whoever called them.
 */
export class FoldedCalls implements ToolPass {
  readonly everywhere = "wrappers";
  readonly #wrappers: ReadonlySet<number>;
  readonly #frames: CallFrames;
  #state!: WalkState;
  #kind = 0;
  #isActive = false;

  constructor(frames: Frames, wrappers: Iterable<number>) {
    this.#wrappers = new Set(wrappers);
    this.#frames = new CallFrames(frames, (position, step, b, c) =>
      this.#state.insertions.add(position, this.#kind, step, b, c),
    );
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.#state = state;
    this.#kind = kind;
    this.#isActive = this.#wrappers.has(state.function);
    if (this.#isActive) this.#frames.begin(state, codeStart, false);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    if (this.#isActive) this.#frames.call(callee, tail, start, end);
  }

  write(sink: SnippetSink, entry: number): void {
    const { a, b, c } = this.#state.insertions;
    this.#frames.write(sink, a[entry], b[entry], c[entry]);
  }

  access(): void {}
  bulk(): void {}
  endBlock(): void {}
  enterLoop(): void {}
  setGlobal(): number {
    return -1;
  }
  grow(): void {}
  end(): void {}
}
