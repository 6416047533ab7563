import { packageOf } from "../load/installed-package.ts";
import { groupDigits } from "../model/counted.ts";

/** Counts the places of native programs whose functions have no names. */
export class NamelessPlaces {
  readonly #ofObject = new Map<string, { places: number; nameless: number }>();

  /** A place in the object at a path. */
  add(path: string, isNamed: boolean): void {
    const count = this.#ofObject.get(path) ?? { places: 0, nameless: 0 };
    this.#ofObject.set(path, count);
    count.places++;
    if (!isNamed) count.nameless++;
  }

  /** A sentence about the object with the most of them, where those are most of its places: what brings their names. */
  advice(): string[] {
    const [most] = [...this.#ofObject].sort(([, a], [, b]) => b.nameless - a.nameless);
    if (most === undefined) return [];
    const [path, { places, nameless }] = most;
    if (nameless <= places / 2) return [];
    const found = packageOf(path);
    const source =
      found === undefined
        ? "the file as it was before its symbols were stripped (--binary-path FOLDER), or building it with -g"
        : `the package ${found}-dbgsym (of some also ${found}-dbg)`;
    return [
      `${path} has no function's name for ${groupDigits(nameless)} of its ${groupDigits(places)} places. What brings them: ${source}.`,
    ];
  }
}
