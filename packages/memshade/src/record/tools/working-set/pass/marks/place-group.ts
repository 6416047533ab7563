import { LINE_BYTES } from "../../../../../ground/bytes/sizes.ts";

/** Kinds of access, as bits. The value is also the number of the plane of marks. */
export const Kind = { Read: 1, Written: 2, Both: 3 } as const;

/** Mark at an offset from the base value, with `Kind` bits. */
export interface Mark {
  offset: number;
  kinds: number;
}

/** Marks of a group with a test, since aligned accesses lie in one line. */
export interface TestedMarks {
  /** Marks that are always needed, and those that are needed if the test fails. */
  always: Mark[];
  unaligned: Mark[];
  /** Test: the bits of `mask` are zero in the address at this offset from the base. */
  offset: number;
  mask: number;
}

/** Accesses of one basic block relative to one base value: all of them are executed, or none. */
export class PlaceGroup {
  base = 0;
  /** Local with the address of the first access, and the offset of that address from the base. */
  local = 0;
  held = 0;
  position = 0;
  end = 0;
  count = 0;
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  readonly #kinds: number[] = [];
  readonly #aligned: boolean[] = [];

  add(offset: number, size: number, kinds: number, aligned: boolean): void {
    const at = this.count++;
    this.#first[at] = offset;
    this.#last[at] = offset + size - 1;
    this.#kinds[at] = kinds;
    this.#aligned[at] = aligned && size > 1;
  }

  /** Returns the marks that the group needs, by offset. `trusted`: aligned accesses count as inside of one line. */
  marks(trusted: boolean): Mark[] {
    return this.count === 1 ? this.#marksOfOne(trusted) : mergeKinds((kind) => this.#bytes(kind, trusted));
  }

  /**
   * Returns the marks with one test whether all accesses are aligned, as they nearly always are. Undefined if the test
   * would save no marks. `exact`: the marks without a test.
   */
  testedMarks(exact: readonly Mark[]): TestedMarks | undefined {
    let largest = -1;
    for (let i = 0; i < this.count; i++)
      if (this.#aligned[i] && (largest < 0 || this.#sizeOf(i) > this.#sizeOf(largest))) largest = i;
    if (largest < 0) return undefined;
    const always = this.marks(true);
    if (always.length >= exact.length) return undefined;
    const offset = this.#first[largest];
    for (let i = 0; i < this.count; i++)
      if (this.#aligned[i] && ((this.#first[i] - offset) & (this.#sizeOf(i) - 1)) !== 0) return undefined;
    const unaligned = exact.filter(
      (mark) => !always.some(({ offset, kinds }) => offset === mark.offset && kinds === mark.kinds),
    );
    return { always, unaligned, offset, mask: this.#sizeOf(largest) - 1 };
  }

  #marksOfOne(trusted: boolean): Mark[] {
    const [first, last, kinds] = [this.#first[0], this.#last[0], this.#kinds[0]];
    const begin = { offset: first, kinds };
    return first === last || (trusted && this.#aligned[0]) ? [begin] : [begin, { offset: last, kinds }];
  }

  #sizeOf(place: number): number {
    return this.#last[place] - this.#first[place] + 1;
  }

  #bytes(kind: number, trusted: boolean): number[] {
    const bytes: number[] = [];
    for (let i = 0; i < this.count; i++) {
      if ((this.#kinds[i] & kind) === 0) continue;
      bytes.push(this.#first[i]);
      if (!(trusted && this.#aligned[i])) bytes.push(this.#last[i]);
    }
    return spanningMarks(bytes);
  }
}

/** Returns the bytes that must be marked: bytes between two marks at most a line apart need no mark. */
function spanningMarks(places: number[]): number[] {
  if (places.length > 1) places.sort((a, b) => a - b);
  const needed: number[] = [];
  for (let i = 0; i < places.length; ) {
    const place = places[i];
    needed.push(place);
    let next = i + 1;
    while (next < places.length && places[next] === place) next++;
    if (next === places.length) break;
    // Every byte between two marks that are at most a line apart lies in the line of one of them.
    while (next + 1 < places.length && places[next + 1] - place <= LINE_BYTES) next++;
    i = next;
  }
  return needed;
}

/** Merges the marks of both kinds: one mark for both at the same offset. */
function mergeKinds(placesOf: (kind: number) => number[]): Mark[] {
  const read = placesOf(Kind.Read);
  const written = placesOf(Kind.Written);
  const marks: Mark[] = [];
  let w = 0;
  for (const offset of read) {
    while (w < written.length && written[w] < offset)
      marks.push({ offset: written[w++], kinds: Kind.Written });
    const both = w < written.length && written[w] === offset;
    if (both) w++;
    marks.push({ offset, kinds: both ? Kind.Both : Kind.Read });
  }
  while (w < written.length) marks.push({ offset: written[w++], kinds: Kind.Written });
  return marks;
}
