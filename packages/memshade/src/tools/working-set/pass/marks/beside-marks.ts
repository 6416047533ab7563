import type { ToolPass, WalkState } from "../../../../rewrite/tool.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import type { IntervalPass } from "../interval-pass.ts";

/** Operand `a` of insertions that are made beside those of the marks: at least this. */
export const FIRST_BESIDE = 64;

/** A pass that does what the marks' pass does, and something of its own beside it. */
export abstract class BesideMarks implements ToolPass {
  readonly everywhere = true;
  protected readonly marks: IntervalPass;
  protected state!: WalkState;
  protected kind = 0;

  constructor(marks: IntervalPass) {
    this.marks = marks;
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.state = state;
    this.kind = kind;
    this.marks.begin(state, kind, codeStart);
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    this.marks.access(op, at, displacement, start, end);
  }

  bulk(op: number, first: number, second: number, start: number, _end: number): void {
    this.marks.bulk(op, first, second, start);
  }

  endBlock(): void {
    this.marks.endBlock();
  }

  enterLoop(body: number): void {
    this.marks.enterLoop(body);
  }

  leaveLoop(start: number, end: number, oneBlock: boolean): void {
    this.marks.leaveLoop(start, end, oneBlock);
  }

  merge(position: number): void {
    this.marks.merge(position);
  }

  leave(start: number): void {
    this.marks.leave(start);
  }

  setGlobal(): number {
    return this.marks.setGlobal();
  }

  grow(memory: number, start: number, end: number): void {
    this.marks.grow(memory, start, end);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    this.marks.call(callee, tail, start, end);
  }

  end(): void {
    this.marks.end();
  }

  write(sink: SnippetSink, entry: number): void {
    if (this.state.insertions.a[entry] < FIRST_BESIDE) this.marks.write(sink, entry);
    else this.writeOwn(sink, entry);
  }

  /** Writes an insertion whose `a` is at least `FIRST_BESIDE`. */
  protected abstract writeOwn(sink: SnippetSink, entry: number): void;
}
