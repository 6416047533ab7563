import { LoopProgressions } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import type { CounterGroups } from "./counter-groups.ts";
import type { HeapSnippets } from "./heap-snippets.ts";

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
