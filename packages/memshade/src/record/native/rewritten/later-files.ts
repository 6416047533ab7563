import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";

/** More items than a program has. */
const MOST_ITEMS = 2000;
const MOST_PROGRAMS = 1000;
const NAME_DIGITS = 32;

/** A list about a program, in a file of its own, which one run writes for the next. */
export class Remembered {
  /** Items of earlier runs; empty if the file is missing or damaged. */
  readonly items: readonly string[];
  readonly #folder: string;
  readonly #path: string;

  /**
   * @param program path without links
   * @param folder folder of the lists of all programs
   */
  constructor(program: string, folder: string) {
    this.#folder = folder;
    const name = createHash("sha256").update(program).digest("hex").slice(0, NAME_DIGITS);
    this.#path = join(folder, `${name}.json`);
    this.items = readItems(this.#path);
  }

  /**
   * Replaces the list.
   * @returns true if it could be written
   */
  keep(items: Iterable<string>): boolean {
    const distinct = [...new Set(items)].slice(0, MOST_ITEMS);
    try {
      makeFolders(this.#folder, 0o700);
      writeWholeFile(this.#path, (file) => file.write(JSON.stringify(distinct)), KEPT_MODE);
      this.#forgetOldest();
      return true;
    } catch {
      return false;
    }
  }

  #forgetOldest(): void {
    const names = readdirSync(this.#folder);
    if (names.length <= MOST_PROGRAMS) return;
    const paths = names.map((name) => join(this.#folder, name));
    const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    paths.sort((a, b) => timeOf(b) - timeOf(a));
    for (const path of paths.slice(MOST_PROGRAMS)) rmSync(path, { force: true });
  }
}

function readItems(path: string): string[] {
  try {
    if (!isOwn(path)) return [];
    const items: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(items) ? items.filter((item) => typeof item === "string") : [];
  } catch {
    return [];
  }
}

/**
 * Files with code that a program maps during its runs, but does not begin with: plug-ins, and programs that
 * it starts. No file names them, so one run finds them, and the next has them rewritten.
 */
export class LaterFiles {
  readonly #remembered: Remembered;
  readonly #excluded = new Set<string>();
  readonly #found = new Set<string>();
  readonly #made = new Set<string>();
  /** File times have fractions of a millisecond. */
  readonly #beganMs = Date.now() + 1;

  constructor(program: string, folder: string) {
    this.#remembered = new Remembered(program, folder);
  }

  /** Existing files of earlier runs, without links. */
  get files(): string[] {
    return this.#remembered.items.filter((path) => isFile(path));
  }

  /** Adds a file that is not to be reported: an initial, rewritten or refused one; without links. */
  exclude(path: string): void {
    this.#excluded.add(path);
  }

  /** Records that the run has mapped a file as code. `path` may be a link. */
  addMapped(path: string): void {
    if (this.#excluded.has(path)) return;
    this.#excluded.add(path);
    if (!path.startsWith("/") || path.startsWith("/dev/") || path.startsWith("/proc/") || !isFile(path))
      return;
    const real = realpathSync(path);
    if (real !== path && this.#excluded.has(real)) return;
    this.#excluded.add(real);
    // The next run may write the file again, which is impossible if another file is mounted over it.
    const isMade = statSync(real).ctimeMs >= this.#beganMs;
    (isMade ? this.#made : this.#found).add(real);
  }

  /** Unknown files that were mapped, without links. */
  get found(): readonly string[] {
    return [...this.#found];
  }

  /**
   * Mapped files that were written after the start of the run. They are not rewritten for the next run
   * either.
   */
  get made(): readonly string[] {
    return [...this.#made];
  }

  /** Stores the found files for the next run. Returns false if this fails. */
  remember(): boolean {
    return this.#found.size === 0 || this.#remembered.keep([...this.#found, ...this.files]);
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
