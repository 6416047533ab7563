import { packageOf } from "../load/installed-package.ts";

/** Counts the places of native programs whose functions have no names. */
export class NamelessPlaces {
  #places = 0;
  #nameless = 0;
  readonly #ofObject = new Map<string, number>();

  /** A place in the object at a path. */
  add(path: string, isNamed: boolean): void {
    this.#places++;
    if (isNamed) return;
    this.#nameless++;
    this.#ofObject.set(path, (this.#ofObject.get(path) ?? 0) + 1);
  }

  /** A sentence where most places have no name: what brings those of the object that has the most of them. */
  advice(): string[] {
    const [most] = [...this.#ofObject].sort(([, a], [, b]) => b - a);
    if (most === undefined || this.#nameless <= this.#places / 2) return [];
    const [path] = most;
    const found = packageOf(path);
    const source =
      found === undefined
        ? "the file as it was before its symbols were stripped (--binary-path FOLDER), or building it with -g"
        : `the package ${found}-dbgsym (of some also ${found}-dbg)`;
    return [
      `${this.#nameless} of ${this.#places} places have no function's name, most of them in ${path}. What brings its names: ${source}.`,
    ];
  }
}
