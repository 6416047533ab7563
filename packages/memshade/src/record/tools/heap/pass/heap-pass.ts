import { LoopProgressions } from "../../../rewrite/facts/loop-progressions.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { CounterGroups, type CounterKinds } from "./counter-groups.ts";
import { type CounterTargets, HeapSnippets } from "./heap-snippets.ts";
import { LoopPolls, type PollTargets } from "./loop-polls.ts";

/**
 * Counters of a loop that is one basic block leave the loop: an address that does not change is counted once, times
 * the number of trips; one that moves by the same distance each trip is counted place by place, in one call after the
 * loop.
 */
export class LoopSummary {
  readonly #snippets: HeapSnippets;
  readonly #counters: CounterGroups;
  #progressions!: LoopProgressions;
  #state: WalkState | undefined;

  constructor(snippets: HeapSnippets, counters: CounterGroups) {
    this.#snippets = snippets;
    this.#counters = counters;
  }

  /** A function's walk begins. */
  begin(state: WalkState): void {
    if (this.#state !== state) this.#progressions = new LoopProgressions(state.insertions, state.values);
    this.#state = state;
    this.#progressions.locals = state.locals;
  }

  /** The innermost block is such a loop, whose first counter would have been `first`; `end` is the offset behind it. */
  summarize(first: number, end: number): void {
    const { control, insertions, temporaries } = this.#state as WalkState;
    this.#progressions.begin(control);
    const { counters, length } = this.#counters;
    let trips = -1;
    for (let i = first; i < length; i++) {
      const counter = counters[i];
      const { base, offset, local, word } = counter;
      const progression = this.#progressions.of(base, offset, local);
      if (progression === undefined) continue;
      if (trips < 0) trips = this.#progressions.countTrips(control, end, progression, temporaries);
      counter.isLeftOut = true;
      const counted = { ...progression, word, trips };
      insertions.add(end, { write: (sink) => this.#snippets.countTrips(sink, counted) });
    }
  }
}

export interface HeapPassOptions extends CounterKinds {
  memory64: boolean;
}

/** Inserts the heap profiler's access counters. */
export class HeapPass implements ToolPass {
  readonly #memory64: boolean;
  readonly #counters: CounterGroups;
  readonly #loops: LoopSummary;
  readonly #polls: LoopPolls | undefined;
  #state!: WalkState;
  /** In a function with loops, what stands outside of them runs rarely. (64-bit addresses have no counting function.) */
  #outlines = false;

  // By index on the control stack.
  /** The stretch of counters before the block, see `CounterGroups.stretch`, and how many counters there were. */
  readonly #stretchBefore: number[] = [];
  readonly #countersBefore: number[] = [];

  /** @param polls undefined: nobody looks at blocks while the program computes */
  constructor(options: HeapPassOptions, targets: CounterTargets, polls: PollTargets | undefined) {
    const { memory64 } = options;
    const snippets = new HeapSnippets(targets, memory64);
    this.#memory64 = memory64;
    this.#counters = new CounterGroups(snippets, options);
    this.#loops = new LoopSummary(snippets, this.#counters);
    this.#polls = polls && new LoopPolls(polls);
  }

  begin(state: WalkState): void {
    this.#state = state;
    this.#outlines = state.hasLoops && !this.#memory64;
    this.#counters.begin(state, this.#outlines);
    this.#loops.begin(state);
    this.#polls?.begin(state);
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    this.#counters.count(op, at, displacement, start, end);
  }

  enterBlock(): void {
    const at = this.#state.control.top + 1;
    this.#stretchBefore[at] = this.#counters.stretch;
    this.#countersBefore[at] = this.#counters.length;
  }

  endBlock(): void {
    this.#counters.endBlock();
  }

  enterLoop(body: number): void {
    this.#counters.cold = false;
    this.#polls?.enterLoop(this.#state, body);
  }

  call(): void {
    this.#polls?.call();
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean): void {
    const { control, openLoops } = this.#state;
    this.#polls?.leaveLoop();
    if (oneBlock) {
      this.#loops.summarize(this.#countersBefore[control.top], end);
      // What follows must not join a counter that has just left the loop.
      this.#counters.endBlock();
    }
    if (openLoops === 1) this.#counters.cold = this.#outlines;
  }

  passBlock(): void {
    const { top } = this.#state.control;
    this.#counters.resume(this.#stretchBefore[top], this.#countersBefore[top]);
  }
}
