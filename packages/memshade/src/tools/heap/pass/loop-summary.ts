import { isZero, LoopProgressions } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { InsertionKind } from "../../../rewrite/write/insertions.ts";
import type { CounterGroups } from "./counter-groups.ts";
import { HeapStep } from "./heap-snippets.ts";

/**
 * Counters of a loop that is one basic block leave the loop: an address that does not change is counted once, times
 * the number of trips; one that moves by the same distance each trip is counted place by place, in one call after the
 * loop.
 */
export class LoopSummary {
  readonly #counters: CounterGroups;
  #progressions!: LoopProgressions;
  #state: WalkState | undefined;
  #kind = 0;

  constructor(counters: CounterGroups) {
    this.#counters = counters;
  }

  /** A function's walk begins. */
  begin(state: WalkState, kind: number): void {
    if (this.#state !== state) this.#progressions = new LoopProgressions(state.insertions, state.values);
    this.#state = state;
    this.#kind = kind;
    this.#progressions.locals = state.locals;
  }

  /** The innermost block is such a loop, whose first counter would have been `first`; `end` is the offset behind it. */
  summarize(first: number, end: number): void {
    const { control, insertions, temporaries } = this.#state as WalkState;
    this.#progressions.begin(control);
    const counters = this.#counters;
    let trips = -1;
    for (let counter = first; counter < counters.length; counter++) {
      const progression = this.#progressions.of(
        counters.base[counter],
        counters.offset[counter],
        counters.local[counter],
      );
      if (progression === undefined) continue;
      if (trips < 0) trips = this.#progressions.countTrips(control, end, progression, temporaries);
      const insertion = counters.insertion[counter];
      const word = insertions.c[insertion];
      const form = insertions.forms.push(progression.end) - 1;
      if (isZero(progression.stride))
        insertions.add(end, this.#kind + HeapStep.CountTrips, form, 0, word, trips);
      else {
        const stride = insertions.forms.push(progression.stride) - 1;
        insertions.add(end, this.#kind + HeapStep.CountStrided, form, stride, word, trips);
      }
      insertions.kind[insertion] = InsertionKind.None;
    }
  }
}
