import { isZero, LoopProgressions } from "../../../rewrite/facts/loop-progressions.ts";
import type { ControlStack } from "../../../rewrite/walk/control-stack.ts";
import type { ValueNumbers } from "../../../rewrite/walk/value-numbers.ts";
import { InsertionKind, type Insertions } from "../../../rewrite/write/insertions.ts";
import type { Temporaries } from "../../../rewrite/write/temporaries.ts";
import type { ValType } from "../../../wasm/index.ts";
import type { CounterGroups } from "./counter-groups.ts";

/**
 * Counters of a loop that is one basic block leave the loop: an address that does not change is counted once, times
 * the number of trips; one that moves by the same distance each trip is counted place by place, in one call after the
 * loop.
 */
export class LoopSummary {
  readonly #insertions: Insertions;
  readonly #counters: CounterGroups;
  readonly #progressions: LoopProgressions;

  constructor(insertions: Insertions, counters: CounterGroups, values: ValueNumbers) {
    this.#insertions = insertions;
    this.#counters = counters;
    this.#progressions = new LoopProgressions(insertions, values);
  }

  /** Types of the function's locals. */
  set locals(types: ArrayLike<ValType>) {
    this.#progressions.locals = types;
  }

  /** The innermost block of `control` is such a loop; `end` is the offset behind it. */
  summarize(control: ControlStack, end: number, temporaries: Temporaries): void {
    this.#progressions.begin(control);
    const counters = this.#counters;
    const insertions = this.#insertions;
    let trips = -1;
    for (let counter = control.firstCounter[control.top]; counter < counters.length; counter++) {
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
      if (isZero(progression.stride)) insertions.add(end, InsertionKind.CountTrips, form, 0, word, trips);
      else {
        const stride = insertions.forms.push(progression.stride) - 1;
        insertions.add(end, InsertionKind.CountStrided, form, stride, word, trips);
      }
      insertions.kind[insertion] = InsertionKind.None;
    }
  }
}
