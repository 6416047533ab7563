import { bucketOf, FRESH_BUCKET } from "../../../../profile/model/working-set/working-set-series.ts";
import type { WorkingSetLayout } from "../memory-plan.ts";

const LINES_PER_PAGE = 64;

export function intervalOf(stamp: number): number | undefined {
  return stamp === 0 ? undefined : stamp - 1;
}

/** Times of the last read and write of lines, as seen from the open interval. `layout.ts` describes the tables. */
export class Histories {
  readonly #histories: Uint8Array;
  readonly #pages: Uint16Array;
  readonly #interval: number;

  constructor(
    buffer: ArrayBufferLike,
    { lines, history, pages }: Pick<WorkingSetLayout, "lines" | "history" | "pages">,
    interval: number,
  ) {
    this.#histories = new Uint8Array(buffer, history, lines);
    this.#pages = new Uint16Array(buffer, pages, Math.ceil(lines / LINES_PER_PAGE));
    this.#interval = interval;
  }

  /** Returns the buckets of a line's last read and of its last write. */
  of(line: number): { read: number; written: number } {
    const history = this.#histories[line];
    const since = bucketOf(this.#interval, intervalOf(this.#pages[Math.floor(line / LINES_PER_PAGE)]));
    return {
      read: Math.max(FRESH_BUCKET - (history & 15), since),
      written: Math.max(FRESH_BUCKET - (history >>> 4), since),
    };
  }
}
