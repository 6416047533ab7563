import * as Op from "../../../../code/wasm/op.generated.ts";
import { LoopProgressions } from "../../../rewrite/facts/loop-progressions.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { LOOPS } from "../layout.ts";
import { CounterGroups, type CounterKinds, type CounterTargets, HeapSnippets } from "./counter-groups.ts";

/** Parts of the rewritten module that polls use: indices, unless stated otherwise. */
interface PollTargets {
  /** Flags by function index: 1 if a loop of another function may call the function. */
  underLoops: Uint8Array;
  countdown: number;
  /**
   * Returns the index of the function (i32) → i32 that looks at followed blocks if that is due. Its parameter
   * is the loop's number, its result the next countdown.
   */
  poll(): number;
}

export const FIRST_COUNTDOWN = 32;

const NO_RESULT = 0x40;

interface Poll {
  loop: number;
  readonly code: OptionalInsertion;
}

/**
 * Inserts polls into loops with calls or inner loops, in functions that no other loop calls. Trips of these
 * loops are few and long. Polls in all functions would take 6 to 11 % of a program's time.
 */
export class LoopPolls {
  readonly #targets: PollTargets;
  #isAsked = false;
  #loops = 0;
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

  /** Enables the poll of the innermost loop, which has a call or another loop inside. */
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
 * Moves counters out of a loop that is one basic block. An address that does not change is counted once,
 * times the number of trips. An address that moves by the same distance each trip is counted granule by
 * granule, in one call after the loop.
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

  begin(state: WalkState): void {
    if (this.#state !== state) this.#progressions = new LoopProgressions(state.insertions, state.values);
    this.#state = state;
    this.#progressions.locals = state.locals;
  }

  /**
   * Summarizes the counters of the innermost block, which is such a loop.
   * `first`: index of its first counter.
   * `end`: offset after the loop.
   */
  summarize(first: number, end: number): void {
    const { control, insertions, temporaries } = this.#state as WalkState;
    this.#progressions.begin(control);
    const { counters, length } = this.#counters;
    let trips = -1;
    for (let i = first; i < length; i++) {
      const counter = counters[i];
      const { base, offset, local, word, repeated } = counter;
      const progression = this.#progressions.progressionOf(base, offset, local);
      if (progression === undefined) continue;
      if (trips < 0) trips = this.#progressions.countTrips(control, end, progression, temporaries);
      counter.isLeftOut = true;
      const counted = { ...progression, word, trips, repeated };
      insertions.add(end, { write: (sink) => this.#snippets.countTrips(sink, counted) });
    }
  }
}

export interface HeapPassOptions extends CounterKinds {
  memory64: boolean;
  /** Returns the locals that a loop of the module assigns, by the loop's number. */
  assignedIn(loop: number): Int32Array;
}

export class HeapPass implements ToolPass {
  readonly #memory64: boolean;
  readonly #assignedIn: (loop: number) => Int32Array;
  readonly #counters: CounterGroups;
  readonly #loops: LoopSummary;
  readonly #polls: LoopPolls | undefined;
  #state!: WalkState;
  /**
   * True in a function with loops: code outside of them runs rarely, and its counters are calls. (64-bit
   * addresses have no counting function.)
   */
  #outlines = false;

  /**
   * Stretch of counters before each open block (see `CounterGroups.stretch`) and the number of counters then,
   * by index on the control stack.
   */
  readonly #stretchBefore: number[] = [];
  readonly #countersBefore: number[] = [];

  /** @param polls undefined: no looks at blocks while the program computes */
  constructor(options: HeapPassOptions, targets: CounterTargets, polls: PollTargets | undefined) {
    const { memory64, assignedIn } = options;
    this.#assignedIn = assignedIn;
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
    this.#counters.enterLoop(this.#assignedIn(this.#state.loop));
    this.#polls?.enterLoop(this.#state, body);
  }

  call(): void {
    this.#polls?.call();
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean): void {
    const { control, openLoops } = this.#state;
    this.#polls?.leaveLoop();
    this.#counters.leaveLoop();
    if (oneBlock) {
      this.#loops.summarize(this.#countersBefore[control.top], end);
      // Keeps the code that follows from sharing a counter that has just left the loop.
      this.#counters.endBlock();
    }
    if (openLoops === 1) this.#counters.cold = this.#outlines;
  }

  passBlock(): void {
    const { top } = this.#state.control;
    this.#counters.resume(this.#stretchBefore[top], this.#countersBefore[top]);
  }
}
