import * as Op from "../../../../code/wasm/op.generated.ts";
import { LoopProgressions } from "../../../rewrite/facts/loop-progressions.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { LOOPS } from "../layout.ts";
import { CounterGroups, type CounterKinds, type CounterTargets, HeapSnippets } from "./counter-groups.ts";

/** Indices, in the rewritten module, of what polls need. */
interface PollTargets {
  /** Functions that loops of others may call, by index: 1. */
  underLoops: Uint8Array;
  /** Global with the trips that are left until the next poll. */
  countdown: number;
  /** (i32) → i32: looks at them if that is due in the loop with this number, and gives the next countdown. */
  poll(): number;
}

/** Trips before the first poll. */
export const FIRST_COUNTDOWN = 32;

/** Block type without results. */
const NO_RESULT = 0x40;

/** What a loop may ask, and its number in the runtime. */
interface Poll {
  loop: number;
  readonly code: OptionalInsertion;
}

/**
 * Has loops ask whether it is time to look at blocks: those with calls or other loops inside, of functions that no other loop calls.
 * Trips of these are few and long; to ask in all functions would take six to eleven per cent of a program's time.
 */
export class LoopPolls {
  readonly #targets: PollTargets;
  #isAsked = false;
  #loops = 0;
  /** Of each open loop, outermost first. */
  readonly #open: Poll[] = [];

  constructor(targets: PollTargets) {
    this.#targets = targets;
  }

  begin(state: WalkState): void {
    this.#isAsked = this.#targets.underLoops[state.function] === 0;
    this.#open.length = 0;
  }

  enterLoop({ insertions }: WalkState, body: number): void {
    if (!this.#isAsked) return;
    this.call();
    const poll: Poll = { loop: 0, code: new OptionalInsertion((sink) => this.#write(sink, poll.loop)) };
    poll.code.isLeftOut = true;
    insertions.add(body, poll.code);
    this.#open.push(poll);
  }

  /** The innermost loop has a call, or another loop, inside. */
  call(): void {
    const innermost = this.#open.at(-1);
    if (innermost?.code.isLeftOut !== true) return;
    innermost.code.isLeftOut = false;
    innermost.loop = this.#loops++ % LOOPS;
  }

  leaveLoop(): void {
    this.#open.pop();
  }

  #write(sink: SnippetSink, loop: number): void {
    const { countdown, poll } = this.#targets;
    sink.indexed(Op.GLOBAL_GET, countdown);
    sink.i32(1);
    sink.plain(Op.I32_SUB);
    sink.indexed(Op.GLOBAL_SET, countdown);
    sink.indexed(Op.GLOBAL_GET, countdown);
    sink.plain(Op.I32_EQZ);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    sink.i32(loop);
    sink.indexed(Op.CALL, poll());
    sink.indexed(Op.GLOBAL_SET, countdown);
    sink.end();
  }
}

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
      const progression = this.#progressions.progressionOf(base, offset, local);
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
