import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import { LINE_BYTES } from "./place-group.ts";

/** Earlier places of one base value that a new one is compared with; a bound for very long straight code. */
const MOST_COMPARED = 32;

/** Bytes that were touched at a position: offsets from a base value. */
interface KnownPlace {
  base: number;
  from: number;
  to: number;
  /** `Kind` bits. */
  kinds: number;
  position: number;
}

/**
 * Places that are sure to have been touched, or marked, where the walk is: it can only have come through the code that
 * did it, and nothing can have forgotten it since.
 */
export class KnownPlaces {
  /** In program order. */
  readonly #order: KnownPlace[] = [];
  readonly #byBase = new Map<number, KnownPlace[]>();

  forgetAll(): void {
    this.#order.length = 0;
    this.#byBase.clear();
  }

  /** The walk may have come past everything since `position`. */
  forgetSince(position: number): void {
    for (let last = this.#order.at(-1); last !== undefined; last = this.#order.at(-1)) {
      if (last.position < position) return;
      this.#order.pop();
      this.#byBase.get(last.base)?.pop();
    }
  }

  /** `[from, to)` of a base value, touched by code at `position` in some of the `Kind`s. */
  add(base: number, from: number, to: number, kinds: number, position: number): void {
    const place = { base, from, to, kinds, position };
    this.#order.push(place);
    const places = this.#byBase.get(base);
    if (places === undefined) this.#byBase.set(base, [place]);
    else places.push(place);
  }

  /** Whether one place has all of `[from, to)`. */
  covers(base: number, from: number, to: number): boolean {
    return this.#newest(base).some((place) => place.from <= from && place.to >= to);
  }

  /** For which kinds of access the line of a byte is known, as bits. */
  kindsAt(base: number, offset: number): number {
    const places = this.#newest(base);
    return places.length === 0 ? 0 : hasLineOf(places, 1, base, offset) | hasLineOf(places, 2, base, offset);
  }

  #newest(base: number): readonly KnownPlace[] {
    const places = this.#byBase.get(base) ?? [];
    return places.length <= MOST_COMPARED ? places : places.slice(-MOST_COMPARED);
  }
}

/** The kind if the line of a byte is known for it: two bytes at most a line apart leave no line between them. */
function hasLineOf(places: readonly KnownPlace[], kind: number, base: number, offset: number): number {
  const line = offset >>> LINE_SHIFT;
  let below = Number.NEGATIVE_INFINITY;
  let above = Number.POSITIVE_INFINITY;
  for (const { from, to, kinds } of places) {
    if ((kinds & kind) === 0) continue;
    const last = to - 1;
    if (from <= offset && offset <= last) return kind;
    if (base === CONSTANT) {
      if (from >>> LINE_SHIFT <= line && last >>> LINE_SHIFT >= line) return kind;
    } else if (last < offset) below = Math.max(below, last);
    else above = Math.min(above, from);
  }
  return above - below <= LINE_BYTES ? kind : 0;
}
