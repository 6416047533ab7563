import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeFolders } from "../../host/run/make-folders.ts";
import { writeWholeFile } from "../../load/whole-file.ts";

/** More plug-ins than a program has. */
const MOST_FILES = 2000;
/** Programs that are remembered. */
const MOST_PROGRAMS = 1000;
const NAME_DIGITS = 32;

/**
 * The files with code that a program has met in its runs and does not begin with: plug-ins that it loads later, and programs that it starts.
 * Nothing in a file names them, so the first run finds them, and the next one has them rewritten.
 */
export class LaterFiles {
  readonly #folder: string;
  readonly #path: string;
  readonly #kept: readonly string[];
  readonly #known = new Set<string>();
  readonly #met = new Set<string>();
  readonly #made = new Set<string>();
  /** Times of files have parts of a millisecond. */
  readonly #beganMs = Date.now() + 1;

  /** @param program path without links @param caches folder of caches */
  constructor(program: string, caches: string) {
    this.#folder = join(caches, "later-files");
    const name = createHash("sha256").update(program).digest("hex").slice(0, NAME_DIGITS);
    this.#path = join(this.#folder, `${name}.json`);
    this.#kept = readPaths(this.#path);
  }

  /** Those of earlier runs that are there still, without links. */
  get files(): string[] {
    return this.#kept.filter((path) => isFile(path));
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
    if (this.#met.size === 0) return true;
    const all = [...new Set([...this.#met, ...this.files])].slice(0, MOST_FILES);
    try {
      makeFolders(this.#folder, 0o700);
      writeWholeFile(this.#path, (file) => file.write(JSON.stringify(all)));
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

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** None where nothing was kept, or it is damaged. */
function readPaths(path: string): string[] {
  try {
    const paths: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(paths) ? paths.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}
