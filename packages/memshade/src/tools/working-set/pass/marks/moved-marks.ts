import { isZero, LoopProgressions, type Progression } from "../../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import { Insert, type IntervalCode } from "../interval-code.ts";
import type { MarkedGroup } from "./line-marks.ts";
import { Kind, LINE_BYTES } from "./place-group.ts";

/** A loop without snapshots: the local with its number of trips, and the accesses of each. */
export interface LoopSummary {
  trips: number;
  accesses: number;
}

/** A loop of one basic block: its poll, and the first of its marked groups and of the insertions that count accesses. */
export interface SummarizedLoop {
  poll: number;
  firstMarked: number;
  firstAdvance: number;
}

/** Longest distance of two places that a span takes as one. */
const LONGEST_EXTRA = 64;
/** Places that move further per trip are marked where they are accessed, beside the loop's own work. */
const LONGEST_MOVED_STRIDE = 32;

/** Marks that move behind their loop: one for what stands still, the lines from first to last for what moves. */
export class MovedMarks {
  readonly #code: IntervalCode;
  #state!: WalkState;
  #progressions: LoopProgressions | undefined;

  constructor(code: IntervalCode) {
    this.#code = code;
  }

  begin(state: WalkState): void {
    this.#state = state;
    this.#progressions ??= new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
  }

  /**
   * Moves the marks of a loop of one basic block behind it where that is possible. Such a loop ends within as many
   * trips as its strides fit into memory, so it goes without snapshots. Undefined: it stays as it is.
   */
  summarize(
    loop: SummarizedLoop,
    end: number,
    marked: readonly MarkedGroup[],
    advances: readonly number[],
  ): LoopSummary | undefined {
    const progressions = this.#progressions as LoopProgressions;
    const { control, temporaries } = this.#state;
    const { b } = this.#code.insertions;
    progressions.begin(control);
    const moved: { group: MarkedGroup; progression: Progression }[] = [];
    for (let i = loop.firstMarked; i < marked.length; i++) {
      const { base, marks, local } = marked[i];
      const progression = progressions.of(base, marks[0].offset, local);
      if (progression !== undefined && progression.stride.terms.length === 0)
        moved.push({ group: marked[i], progression });
    }
    const bounded = moved.find(({ progression: { stride } }) => stride.constant !== 0);
    if (bounded === undefined) return undefined;
    const trips = progressions.countTrips(control, end, bounded.progression, temporaries);
    this.#code.remove(loop.poll);
    let accesses = 0;
    for (let i = loop.firstAdvance; i < advances.length; i++) {
      accesses += b[advances[i]];
      this.#code.remove(advances[i]);
    }
    const firstSpan = this.#code.spans.length;
    for (const { group, progression } of moved)
      if (Math.abs(progression.stride.constant) <= LONGEST_MOVED_STRIDE)
        this.#moveMarks(group, progression, trips, end);
    this.#endSummarized(end, trips, accesses, firstSpan);
    return { trips, accesses };
  }

  /** Behind a loop: short runs are marked by the ends of their spans, long ones by calls. */
  #endSummarized(end: number, trips: number, accesses: number, firstSpan: number): void {
    let few = LINE_BYTES;
    for (let span = firstSpan; span < this.#code.spans.length; span++) {
      const { stride, extra } = this.#code.spans[span];
      few = Math.min(few, Math.floor((LINE_BYTES - extra) / Math.abs(stride)) + 1);
    }
    const counts = this.#code.countdown.isVirtual && accesses > 0;
    if (!counts && firstSpan === this.#code.spans.length) return;
    this.#code.add(end, Insert.IfMany, trips, few);
    for (const many of [true, false]) {
      for (let span = firstSpan; span < this.#code.spans.length; span++)
        this.#code.add(end, many ? Insert.MarkFar : Insert.MarkNear, span);
      if (counts) this.#code.add(end, many ? Insert.AdvanceManyTrips : Insert.AdvanceTrips, trips, accesses);
      this.#code.add(end, many ? Insert.Else : Insert.EndIf);
    }
  }

  /** Marks of one kind whose distance is small become one span. */
  #moveMarks({ marks, insertions }: MarkedGroup, first: Progression, trips: number, end: number): void {
    for (const insertion of insertions) this.#code.remove(insertion);
    for (const kinds of [Kind.Read, Kind.Written, Kind.Both]) {
      const places = marks.filter((mark) => mark.kinds === kinds).map(({ offset }) => offset);
      for (let i = 0; i < places.length; ) {
        const from = places[i];
        let extra = 0;
        for (i++; i < places.length && places[i] - from <= LONGEST_EXTRA; i++) extra = places[i] - from;
        const shift = (from - marks[0].offset) | 0;
        const address = { terms: first.end.terms, constant: (first.end.constant + shift) | 0 };
        if (isZero(first.stride)) {
          const form = this.#code.insertions.forms.push(address) - 1;
          this.#code.add(end, Insert.MarkFixed, form, extra, kinds);
        } else {
          const span = { end: address, stride: first.stride.constant, trips, extra, kinds };
          this.#code.spans.push(span);
        }
      }
    }
  }
}
