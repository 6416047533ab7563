import { realpathSync, statSync } from "node:fs";
import { Remembered } from "./remembered.ts";

/**
 * The files with code that a program has met in its runs and does not begin with: plug-ins that it loads later, and programs that it starts.
 * Nothing in a file names them, so the first run finds them, and the next one has them rewritten.
 */
export class LaterFiles {
  readonly #remembered: Remembered;
  readonly #known = new Set<string>();
  readonly #met = new Set<string>();
  readonly #made = new Set<string>();
  /** Times of files have parts of a millisecond. */
  readonly #beganMs = Date.now() + 1;

  /** @param program path without links @param folder where they are remembered */
  constructor(program: string, folder: string) {
    this.#remembered = new Remembered(program, folder);
  }

  /** Those of earlier runs that are there still, without links. */
  get files(): string[] {
    return this.#remembered.items.filter((path) => isFile(path));
  }

  /** A file that the run begins with, or that was rewritten for it, or cannot be; without links. */
  know(path: string): void {
    this.#known.add(path);
  }

  /** The run has mapped a file as code, by its path or that of a link. */
  meet(path: string): void {
    if (this.#known.has(path)) return;
    this.#known.add(path);
    if (!path.startsWith("/") || path.startsWith("/dev/") || path.startsWith("/proc/") || !isFile(path))
      return;
    const real = realpathSync(path);
    if (real !== path && this.#known.has(real)) return;
    this.#known.add(real);
    // What a run makes, the next one may make again, and what stands in a file's place cannot be written.
    const isMade = statSync(real).ctimeMs >= this.#beganMs;
    (isMade ? this.#made : this.#met).add(real);
  }

  /** Files that were met and not known, without links. */
  get met(): readonly string[] {
    return [...this.#met];
  }

  /** Files that were met and had been written since the run began; the next run has them as they are, too. */
  get made(): readonly string[] {
    return [...this.#made];
  }

  /** Remembers what was met for the next run; false: it cannot be written down. */
  remember(): boolean {
    return this.#met.size === 0 || this.#remembered.keep([...this.#met, ...this.files]);
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
