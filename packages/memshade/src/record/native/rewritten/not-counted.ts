import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { counted, groupDigits } from "../../../profile/model/counted.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import { isRewritten, type RewrittenFile } from "./rewrite-files.ts";
import { leftAloneCount } from "./rewritten-cache.ts";

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

/** Most files in a sentence. */
const FILES_NAMED = 5;

/**
 * Returns sentences about code that ran unchanged, without a tool's code.
 * @param later files that were mapped later
 * @param isRemembered the next run has them rewritten, except those that it wrote
 */
export function notCounted(
  files: readonly RewrittenFile[],
  later: Pick<LaterFiles, "found" | "made">,
  isRemembered: boolean,
): string[] {
  const sentences: string[] = [];
  const refused = files.flatMap(({ original, facts }) =>
    "refused" in facts ? [`${basename(original)} (${facts.refused})`] : [],
  );
  if (refused.length > 0)
    sentences.push(
      `${counted(refused.length, "file", "files")} ran as ${refused.length === 1 ? "it is" : "they are"}, without being counted: ${listed(refused)}.`,
    );
  const facts = files.filter(isRewritten).flatMap(({ facts: one }) => ("refused" in one ? [] : [one]));
  const unchanged = facts.reduce((sum, { leftAlone }) => sum + leftAloneCount(leftAlone), 0);
  const functions = facts.reduce((sum, each) => sum + each.functions, unchanged);
  if (unchanged > 0)
    sentences.push(
      `${counted(unchanged, "function of", "functions of")} ${groupDigits(functions)} ran as ${unchanged === 1 ? "it is" : "they are"}: stubs, frames of signals, what cannot be decoded, and what is data, too.`,
    );
  const narrow = facts.reduce((sum, { unpatched }) => sum + unpatched.functions, 0);
  if (narrow > 0)
    sentences.push(
      `${counted(narrow, "function of", "functions of")} ${groupDigits(functions)} ${narrow === 1 ? "has" : "have"} no room for a jump to the rewritten code: called by a pointer, ${narrow === 1 ? "it runs as it is" : "they run as they are"}.`,
    );
  const bare = files.flatMap((file) => {
    const bytes = bytesLeftAlone(file);
    return bytes === 0 ? [] : [{ name: basename(file.original), bytes }];
  });
  if (bare.length > 0) {
    const names = bare
      .sort((a, b) => b.bytes - a.bytes)
      .map(({ name, bytes }) => `${name} (${groupDigits(bytes)} bytes)`);
    sentences.push(
      `Code that .eh_frame does not describe ran as it is, without being counted: ${listed(names)}.`,
    );
  }
  const { found, made } = later;
  if (found.length > 0) sentences.push(`${laterInWords(found, isRemembered)}: ${namesOf(found)}.`);
  if (made.length > 0)
    sentences.push(
      `${counted(made.length, "file", "files")} that ${made.length === 1 ? "was" : "were"} written meanwhile ran as ${made.length === 1 ? "it is" : "they are"}: ${namesOf(made)}.`,
    );
  return sentences;
}

/** Returns the bytes of a rewritten file's code that are in no known function. */
export function bytesLeftAlone({ facts }: RewrittenFile): number {
  return "refused" in facts ? 0 : facts.withoutFrames;
}

export function laterInWords({ length }: readonly string[], isRemembered: boolean): string {
  const many = length !== 1;
  const next = isRemembered ? `the next run has ${many ? "them" : "it"}` : "they cannot be remembered";
  return `${counted(length, "file", "files")} that ${many ? "were" : "was"} loaded later ran as ${many ? "they are" : "it is"}; ${next}`;
}

/** Returns a sentence about started programs with another dynamic linker, or none. */
export function othersInWords(paths: readonly string[]): string {
  const [were, have, they] = paths.length === 1 ? ["was", "has", "it"] : ["were", "have", "they"];
  return `${counted(paths.length, "program", "programs")} that ${were} started (${namesOf(paths)}) ${have} another dynamic linker or none: where ${they} ${have} read files of this run, ${they} ${have} found rewritten ones`;
}

export function readInWords(paths: readonly string[], isRemembered: boolean): string {
  const many = paths.length !== 1;
  const next = isRemembered
    ? `the next run has ${many ? "these files as they are" : "that file as it is"}`
    : "that cannot be remembered";
  return `the program has read its own code as data (${namesOf(paths)}), where memshade had put jumps into it: what it made of that may be wrong; ${next}`;
}

export function namesOf(paths: readonly string[]): string {
  return listed(paths.map((path) => basename(path)));
}

function listed(names: readonly string[]): string {
  const rest = names.length - FILES_NAMED;
  return names.slice(0, FILES_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
