import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { KnownPlaces } from "./known-places.ts";
import { type Mark, PlaceGroup, type TestedMarks } from "./place-group.ts";

/** Asks for the insertions that mark a group's lines. */
type InsertMarks = (group: PlaceGroup, marks: Mark[], tested: TestedMarks | undefined) => void;

/** Groups of one basic block that may be open at once; further places close the block's groups early. */
const MOST_GROUPS = 64;

/**
 * Collects the places that a basic block accesses, by base value, and has them marked at the first access of each group
 * when the block ends; nothing that is known to be marked is marked again.
 */
export class LineMarks {
  readonly #insert: InsertMarks;
  readonly #pool: PlaceGroup[] = [];
  #open = 0;
  readonly #known = new KnownPlaces();
  /** Aligned places are taken to lie in one line. */
  readonly #trusted: boolean;
  /** Marks may depend on a test of alignment, which is a branch. */
  #tests = true;

  constructor(trusted: boolean, insert: InsertMarks) {
    this.#trusted = trusted;
    this.#insert = insert;
  }

  /** Begins a function. `tests`: it may get branches. */
  reset(tests: boolean): void {
    this.#tests = tests;
    this.#open = 0;
    this.#known.forgetAll();
  }

  /**
   * An access of `size` bytes at `base + offset`. True if it opens a group: the caller then gives it a local and the
   * positions.
   */
  access(
    base: number,
    offset: number,
    size: number,
    kinds: number,
    aligned: boolean,
  ): PlaceGroup | undefined {
    let missing = kinds & ~this.#known.kindsAt(base, offset);
    const last = offset + size - 1;
    if (missing !== kinds && size > 1 && !(this.#trusted && aligned))
      missing |= kinds & ~this.#known.kindsAt(base, last);
    if (missing === 0) return undefined;
    for (let i = this.#open - 1; i >= 0; i--) {
      const group = this.#pool[i];
      if (group.base !== base) continue;
      group.add(offset, size, missing, aligned);
      return undefined;
    }
    if (this.#open === MOST_GROUPS) this.endBlock();
    this.#pool[this.#open] ??= new PlaceGroup();
    const group = this.#pool[this.#open++];
    group.base = base;
    group.count = 0;
    group.add(offset, size, missing, aligned);
    return group;
  }

  /** Whatever is in the open groups has been accessed now. */
  endBlock(): void {
    for (let i = 0; i < this.#open; i++) this.#finish(this.#pool[i]);
    this.#open = 0;
  }

  #finish(group: PlaceGroup): void {
    const { base, position } = group;
    const marks = group.marks(this.#trusted);
    const tested = this.#trusted || !this.#tests || base === CONSTANT ? undefined : group.testedMarks(marks);
    this.#insert(group, marks, tested);
    for (const { offset, kinds } of marks) this.#known.add(base, offset, offset + 1, kinds, position);
  }

  forgetAll(): void {
    this.endBlock();
    this.#known.forgetAll();
  }

  forgetSince(position: number): void {
    this.endBlock();
    this.#known.forgetSince(position);
  }
}
