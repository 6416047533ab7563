import { ValueHistogram } from "./histogram.ts";
import { COLD, ReuseDistances } from "./reuse-distance.ts";

/** Reuse behaviour of a whole reference stream. Positions count references from 1. */
export interface ReuseProfile {
  references: number;
  /** Distinct lines: as many references had no earlier one. */
  lines: number;
  /** Position of the line's previous reference subtracted from the reference's own. */
  times: ValueHistogram;
  /** Distinct other lines between the two. */
  distances: ValueHistogram;
  /** Position of the first reference to each line. */
  firsts: ValueHistogram;
  /** References from the last one to each line to the end, that one included. */
  lasts: ValueHistogram;
}

/** Takes references one by one; `profile` may be asked at any time. */
export class ReuseRecorder {
  readonly #distances = new ReuseDistances();
  readonly #lastOf = new Map<number, number>();
  readonly #times = new ValueHistogram();
  readonly #distance = new ValueHistogram();
  readonly #firsts = new ValueHistogram();
  #references = 0;

  /** Returns the reference's distance, `COLD` for the first one to a line. */
  reference(line: number): number {
    const position = ++this.#references;
    const distance = this.#distances.reference(line);
    if (distance === COLD) this.#firsts.add(position);
    else {
      this.#times.add(position - (this.#lastOf.get(line) as number));
      this.#distance.add(distance);
    }
    this.#lastOf.set(line, position);
    return distance;
  }

  profile(): ReuseProfile {
    const lasts = new ValueHistogram();
    for (const last of this.#lastOf.values()) lasts.add(this.#references + 1 - last);
    return {
      references: this.#references,
      lines: this.#lastOf.size,
      times: this.#times,
      distances: this.#distance,
      firsts: this.#firsts,
      lasts,
    };
  }
}

export function reuseProfile(lines: Iterable<number>): ReuseProfile {
  const recorder = new ReuseRecorder();
  for (const line of lines) recorder.reference(line);
  return recorder.profile();
}
