import { isZero, LoopProgressions, type Progression } from "../../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import type { OptionalInsertion } from "../../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import type { AccessCount } from "../access-count.ts";
import type { Countdown } from "../countdown.ts";
import type { MarkedGroup } from "./line-marks.ts";
import type { MarkWriter, Span } from "./mark-writer.ts";
import { Kind, LINE_BYTES } from "./place-group.ts";

/** A loop without snapshots: the local with its number of trips, and the accesses of each. */
export interface LoopSummary {
  trips: number;
  accesses: number;
}

/** A loop of one basic block: its poll, and the first of its marked groups and of the insertions that count accesses. */
export interface SummarizedLoop {
  poll: OptionalInsertion;
  firstMarked: number;
  firstAdvance: number;
}

const NO_RESULT = 0x40;
/** Longest distance of two places that a span takes as one. */
const LONGEST_EXTRA = 64;
/** Places that move further per trip are marked where they are accessed, beside the loop's own work. */
const LONGEST_MOVED_STRIDE = 32;

/** Marks that move behind their loop: one for what stands still, the lines from first to last for what moves. */
export class MovedMarks {
  readonly #writer: MarkWriter;
  readonly #countdown: Countdown;
  #state!: WalkState;
  #progressions: LoopProgressions | undefined;

  constructor(writer: MarkWriter, countdown: Countdown) {
    this.#writer = writer;
    this.#countdown = countdown;
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
    advances: readonly AccessCount[],
  ): LoopSummary | undefined {
    const progressions = this.#progressions as LoopProgressions;
    const { control, temporaries } = this.#state;
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
    loop.poll.isLeftOut = true;
    let accesses = 0;
    for (let i = loop.firstAdvance; i < advances.length; i++) {
      accesses += advances[i].accesses;
      advances[i].isLeftOut = true;
    }
    const spans = moved
      .filter(({ progression }) => Math.abs(progression.stride.constant) <= LONGEST_MOVED_STRIDE)
      .flatMap(({ group, progression }) => this.#moveMarks(group, progression, trips, end));
    this.#endSummarized(end, spans, { trips, accesses });
    return { trips, accesses };
  }

  /** Behind a loop: short runs are marked by the ends of their spans, long ones by calls. */
  #endSummarized(end: number, spans: readonly Span[], { trips, accesses }: LoopSummary): void {
    const few = Math.min(
      LINE_BYTES,
      ...spans.map(({ stride, extra }) => Math.floor((LINE_BYTES - extra) / Math.abs(stride)) + 1),
    );
    const counts = this.#countdown.isVirtual && accesses > 0;
    if (!counts && spans.length === 0) return;
    const add = (write: (sink: SnippetSink) => void): void => this.#state.insertions.add(end, { write });
    add((sink) => {
      sink.local(Op.LOCAL_GET, trips);
      sink.i32(few);
      sink.plain(Op.I32_GT_U);
      sink.open(Op.IF, NO_RESULT);
    });
    for (const many of [true, false]) {
      for (const span of spans) add((sink) => this.#writer.markSpan(sink, span, !many));
      if (counts) add((sink) => this.#countdown.advanceTrips(sink, trips, accesses, many));
      add((sink) => sink.plain(many ? Op.ELSE : Op.END));
    }
  }

  /** Marks of one kind whose distance is small become one. Returns those that moved with the loop. */
  #moveMarks({ marks, insertions }: MarkedGroup, first: Progression, trips: number, end: number): Span[] {
    for (const insertion of insertions) insertion.isLeftOut = true;
    const spans: Span[] = [];
    for (const kinds of [Kind.Read, Kind.Written, Kind.Both]) {
      const places = marks.filter((mark) => mark.kinds === kinds).map(({ offset }) => offset);
      for (let i = 0; i < places.length; ) {
        const from = places[i];
        let extra = 0;
        for (i++; i < places.length && places[i] - from <= LONGEST_EXTRA; i++) extra = places[i] - from;
        const shift = (from - marks[0].offset) | 0;
        const address = { terms: first.end.terms, constant: (first.end.constant + shift) | 0 };
        if (!isZero(first.stride))
          spans.push({ end: address, stride: first.stride.constant, trips, extra, kinds });
        else {
          const distance = extra;
          this.#state.insertions.add(end, {
            write: (sink) => this.#writer.markFixed(sink, address, distance, kinds),
          });
        }
      }
    }
    return spans;
  }
}
