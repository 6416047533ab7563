import type { ToolPass, WalkState } from "../../../../rewrite/tool.ts";
import type { IntervalPass } from "../interval-pass.ts";

/** Pass that does the work of the marks' pass, and lets subclasses add their own. */
export abstract class BesideMarks implements ToolPass {
  readonly everywhere = true;
  protected readonly marks: IntervalPass;
  protected state!: WalkState;

  constructor(marks: IntervalPass) {
    this.marks = marks;
  }

  begin(state: WalkState, codeStart: number): void {
    this.state = state;
    this.marks.begin(state, codeStart);
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

  leaveLoop(): void {
    this.marks.leaveLoop();
  }

  merge(position: number): void {
    this.marks.merge(position);
  }

  leave(start: number): void {
    this.marks.leave(start);
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
}
