// Live bytes over time of some contexts: the small pictures in tables.
import type { PageData, PageTimeline } from "../../data/page-data.ts";

/** More points than these cannot be told apart in a picture as wide as a column. */
const POINTS = 48;

export class LifeLines {
  /** What the points count, for people. */
  readonly unit: string;
  readonly #offset: Int32Array;
  readonly #point: Uint16Array;
  readonly #change: Float64Array;
  readonly #begin: Float64Array | undefined;
  readonly #points: number;

  /** @returns undefined if nobody recorded what was live when */
  static of(data: PageData): LifeLines | undefined {
    const column = (id: string, { deltas }: PageTimeline) =>
      deltas?.columns.find(({ weight }) => weight === id)?.values;
    const timeline = data.timelines.find((one) => column("freed", one) !== undefined);
    const bytes = timeline && column("bytes", timeline);
    return bytes && new LifeLines(data, timeline, bytes, column("freed", timeline)!);
  }

  private constructor(data: PageData, timeline: PageTimeline, bytes: Float64Array, freed: Float64Array) {
    const { offset, context, begin } = timeline.deltas!;
    const intervals = offset.length - 1;
    this.#points = Math.min(POINTS, intervals);
    this.unit = timeline.unit;
    this.#offset = new Int32Array(data.contexts.length + 1);
    for (const of of context) this.#offset[of + 1]++;
    for (let i = 0; i < data.contexts.length; i++) this.#offset[i + 1] += this.#offset[i];
    this.#point = new Uint16Array(context.length);
    this.#change = new Float64Array(context.length);
    const next = this.#offset.slice();
    for (let interval = 0; interval < intervals; interval++) {
      const point = Math.floor((interval * this.#points) / intervals);
      for (let row = offset[interval]; row < offset[interval + 1]; row++) {
        const at = next[context[row]]++;
        this.#point[at] = point;
        this.#change[at] = bytes[row] - freed[row];
      }
    }
    if (begin) {
      this.#begin = new Float64Array(data.contexts.length);
      begin.context.forEach((of, row) => {
        this.#begin![of] += begin.bytes[row];
      });
    }
  }

  /** Live bytes at the end of each of some equal parts of the run. */
  line(contexts: Iterable<number>): Float64Array {
    const live = new Float64Array(this.#points);
    for (const context of contexts) {
      live[0] += this.#begin?.[context] ?? 0;
      for (let at = this.#offset[context]; at < this.#offset[context + 1]; at++)
        live[this.#point[at]] += this.#change[at];
    }
    for (let point = 1; point < live.length; point++) live[point] += live[point - 1];
    return live;
  }
}
