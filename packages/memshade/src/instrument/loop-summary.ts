import type { ControlStack } from "./control-stack.ts";
import type { CounterGroups } from "./counter-groups.ts";
import { type Insertions, InsertionKind } from "./insertions.ts";
import { loopTemporary, type Temporaries } from "./temporaries.ts";
import type { ValueNumbers } from "./value-numbers.ts";

/** A local that holds the base of a counter's address when the loop has ended, and what one trip adds to it. */
interface Progression {
  local: number;
  /** Distance of the address from the local's value at the loop's header. */
  offset: number;
  /** Bytes per trip; 0 for a local the loop does not change. */
  stride: number;
}

/**
 * Counters of a loop that is one basic block leave the loop: a base that does not change is counted once, times the
 * number of trips; a base that moves by a constant is counted place by place, in one call after the loop. The number
 * of trips comes from how far an induction variable went, so the loop itself may end up with no extra instruction.
 */
export class LoopSummary {
  readonly #insertions: Insertions;
  readonly #counters: CounterGroups;
  readonly #values: ValueNumbers;
  /** 1 for each i32 local of the function: no others are followed. */
  isI32: Uint8Array = new Uint8Array(0);
  #startTime = 0;
  #valuesAtHeader = 0;

  constructor(insertions: Insertions, counters: CounterGroups, values: ValueNumbers) {
    this.#insertions = insertions;
    this.#counters = counters;
    this.#values = values;
  }

  /** The innermost block of `control` is such a loop; `end` is the offset behind it. */
  summarize(control: ControlStack, end: number, temporaries: Temporaries): void {
    const at = control.top;
    this.#startTime = control.startTime[at];
    this.#valuesAtHeader = control.loopValues[at];
    const counters = this.#counters;
    const insertions = this.#insertions;
    let trips = -1;
    for (let counter = control.firstCounter[at]; counter < counters.length; counter++) {
      const progression = this.#progressionOf(counter);
      if (progression === undefined) continue;
      if (trips < 0) {
        trips = loopTemporary(temporaries.loops++);
        this.#countTrips(control, end, trips, progression);
      }
      const insertion = counters.insertion[counter];
      const { local, offset, stride } = progression;
      if (stride === 0) insertions.add(end, InsertionKind.CountTrips, local, offset, insertions.c[insertion], trips);
      else insertions.add(end, InsertionKind.CountStrided, local, offset, insertions.c[insertion], trips, stride);
      insertions.kind[insertion] = InsertionKind.None;
      // Later counters through the same temporary are in this loop too, but may have to stay: they need it.
    }
  }

  #countTrips(control: ControlStack, end: number, trips: number, progression: Progression): void {
    const insertions = this.#insertions;
    const at = control.top;
    const source = progression.stride !== 0 ? progression : this.#findInduction();
    if (source === undefined) {
      insertions.add(control.loopStart[at], InsertionKind.ClearLocal, trips);
      insertions.add(control.loopBody[at], InsertionKind.AddTrip, trips);
    } else {
      insertions.add(control.loopStart[at], InsertionKind.CopyLocal, trips, source.local);
      insertions.add(end, InsertionKind.TripsFromDistance, trips, source.local, source.stride);
    }
  }

  #progressionOf(counter: number): Progression | undefined {
    const values = this.#values;
    const base = this.#counters.base[counter];
    const offset = this.#counters.offset[counter];
    const holder = this.#counters.local[counter];
    for (const local of [holder, values.origin[base]]) {
      if (local < 0 || local >= this.isI32.length || this.isI32[local] === 0) continue;
      if (values.localValue[local] !== base) continue;
      if (values.localTime[local] <= this.#startTime)
        return { local, offset: (offset - values.localOffset[local]) | 0, stride: 0 };
      if (this.#isHeaderValueOf(base, local) && values.localOffset[local] !== 0)
        return { local, offset, stride: values.localOffset[local] };
    }
    return undefined;
  }

  /** Whether `base` is what the local held when a trip began. */
  #isHeaderValueOf(base: number, local: number): boolean {
    const values = this.#values;
    return base > this.#valuesAtHeader && values.origin[base] === local && values.originTime[base] <= this.#startTime;
  }

  /** Any i32 local that moves by a constant per trip. */
  #findInduction(): Progression | undefined {
    const values = this.#values;
    for (let i = this.#startTime; i < values.time; i++) {
      const local = values.log[i];
      if (local >= this.isI32.length || this.isI32[local] === 0) continue;
      const base = values.localValue[local];
      const stride = values.localOffset[local];
      if (base !== 0 && stride !== 0 && this.#isHeaderValueOf(base, local)) return { local, offset: 0, stride };
    }
    return undefined;
  }
}
