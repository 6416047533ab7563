import { LINE_BYTES } from "../../../../../ground/bytes/sizes.ts";
import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { LINE_SHIFT } from "./line-of-address.ts";

/**
 * Bound on the earlier ranges of a base value that a new range is compared with. Only very long straight code
 * reaches it.
 */
const MOST_COMPARED = 32;

/** Range of bytes that was touched at a position: offsets from a base value, with `Kind` bits. */
interface KnownPlace {
  base: number;
  from: number;
  to: number;
  kinds: number;
  position: number;
}

/**
 * Ranges that certainly were touched, or marked, before the walk's current position. Every path to it leads through
 * that code, and nothing resets the marks on the way.
 */
export class KnownPlaces {
  readonly #order: KnownPlace[] = [];
  readonly #byBase = new Map<number, KnownPlace[]>();

  forgetAll(): void {
    this.#order.length = 0;
    this.#byBase.clear();
  }

  /** Removes the ranges added at or after `position`: a path to the current position may skip their code. */
  forgetSince(position: number): void {
    for (let last = this.#order.at(-1); last !== undefined; last = this.#order.at(-1)) {
      if (last.position < position) return;
      this.#order.pop();
      this.#byBase.get(last.base)?.pop();
    }
  }

  /** Adds `[from, to)` of a base value, touched by code at `position` in some of the `Kind`s. */
  add(base: number, from: number, to: number, kinds: number, position: number): void {
    const place = { base, from, to, kinds, position };
    this.#order.push(place);
    const places = this.#byBase.get(base);
    if (places === undefined) this.#byBase.set(base, [place]);
    else places.push(place);
  }

  covers(base: number, from: number, to: number): boolean {
    return this.#newest(base).some((place) => place.from <= from && place.to >= to);
  }

  /** Returns the kinds of access, as bits, for which the line of a byte is known. */
  kindsAt(base: number, offset: number): number {
    const places = this.#newest(base);
    return places.length === 0 ? 0 : hasLineOf(places, 1, base, offset) | hasLineOf(places, 2, base, offset);
  }

  #newest(base: number): readonly KnownPlace[] {
    const places = this.#byBase.get(base) ?? [];
    return places.length <= MOST_COMPARED ? places : places.slice(-MOST_COMPARED);
  }
}

/**
 * Returns the kind if the line of a byte is known for it. Two bytes at most a line apart leave no line between them.
 */
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
