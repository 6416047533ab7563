import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { CounterGroups } from "./counter-groups.ts";
import { type CounterTargets, HeapSnippets } from "./heap-snippets.ts";
import { LoopAccumulators } from "./loop-accumulators.ts";
import { LoopSummary } from "./loop-summary.ts";
import { PointerRoots } from "./pointer-roots.ts";

export interface HeapPassOptions {
  /** Share counters at identical addresses only. */
  exact: boolean;
  /** Count stack and static addresses too. */
  includeStack: boolean;
  memory64: boolean;
}

/** Inserts the heap profiler's access counters. */
export class HeapPass implements ToolPass {
  readonly #options: HeapPassOptions;
  readonly #counters: CounterGroups;
  readonly #roots = new PointerRoots();
  readonly #loops: LoopSummary;
  readonly #accumulators: LoopAccumulators;
  #state!: WalkState;
  /** Whether counters in loops may be gathered in locals. */
  #gathers = false;
  /** In a function with loops, what stands outside of them runs rarely. (64-bit addresses have no counting function.) */
  #outlines = false;

  // By index on the control stack.
  /** The stretch of counters before the block, see `CounterGroups.stretch`, and how many counters there were. */
  readonly #stretchBefore: number[] = [];
  readonly #countersBefore: number[] = [];
  /** Last value number given before each of the open loops, innermost last. */
  readonly #valuesAtHeaders: number[] = [];
  #valuesAtHeader = 0;

  constructor(options: HeapPassOptions, targets: CounterTargets) {
    this.#options = options;
    const snippets = new HeapSnippets(targets, options.memory64);
    this.#counters = new CounterGroups(snippets, options.exact, options.includeStack);
    this.#loops = new LoopSummary(snippets, this.#counters);
    this.#accumulators = new LoopAccumulators(snippets, this.#counters, this.#roots);
  }

  begin(state: WalkState): void {
    const { exact, memory64 } = this.#options;
    this.#state = state;
    this.#outlines = state.hasLoops && !memory64;
    this.#gathers = this.#outlines && !exact;
    this.#counters.begin(state, this.#outlines);
    this.#loops.begin(state);
    this.#accumulators.begin(state);
    this.#valuesAtHeaders.length = 0;
    this.#roots.begin(state);
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    this.#counters.count(op, at, displacement, start, end);
  }

  assignInLoop(local: number, at: number): void {
    if (this.#gathers) this.#roots.assigned(local, this.#state.stack.value[at], this.#valuesAtHeader);
  }

  enterBlock(): void {
    const at = this.#state.control.top + 1;
    this.#stretchBefore[at] = this.#counters.stretch;
    this.#countersBefore[at] = this.#counters.length;
  }

  endBlock(): void {
    this.#counters.endBlock();
  }

  enterLoop(): void {
    this.#counters.cold = false;
    if (!this.#gathers) return;
    this.#valuesAtHeader = this.#state.values.last;
    this.#valuesAtHeaders.push(this.#valuesAtHeader);
    this.#accumulators.enterLoop();
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean, reached: boolean): void {
    const { control, openLoops } = this.#state;
    if (oneBlock) {
      this.#loops.summarize(this.#countersBefore[control.top], end);
      // What follows must not join a counter that has just left the loop.
      this.#counters.endBlock();
    }
    if (this.#gathers) {
      this.#accumulators.leaveLoop(end, reached);
      this.#valuesAtHeaders.pop();
      this.#valuesAtHeader = this.#valuesAtHeaders.at(-1) ?? 0;
    }
    if (openLoops === 1) this.#counters.cold = this.#outlines;
  }

  leaveBlock(end: number): void {
    if (this.#gathers) this.#accumulators.leaveBlock(this.#state.control.top, end);
  }

  passBlock(): void {
    const { top } = this.#state.control;
    this.#counters.resume(this.#stretchBefore[top], this.#countersBefore[top]);
  }

  branchTo(target: number, start: number, always: boolean): void {
    if (this.#gathers && this.#state.openLoops > 0) this.#accumulators.branch(target, start, always);
  }

  leave(start: number, op: number): void {
    if (!this.#gathers || this.#state.openLoops === 0) return;
    if (op === Op.RETURN) this.#accumulators.leaveFunction(start);
    else if (op === Op.THROW || op === Op.RETHROW || op === Op.THROW_REF) this.#accumulators.obstacle();
  }

  call(): void {
    this.#accumulators.obstacle();
  }

  end(): void {
    if (this.#gathers) this.#accumulators.finish();
  }
}
