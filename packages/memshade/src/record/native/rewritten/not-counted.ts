import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { counted, groupDigits } from "../../../profile/model/counted.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import { isRewritten, type RewrittenFile } from "./rewrite-files.ts";
import { leftAloneCount } from "./rewritten-cache.ts";

/** More than a program has of what is remembered. */
const MOST_ITEMS = 2000;
const MOST_PROGRAMS = 1000;
const NAME_DIGITS = 32;

/** What runs of a program have found out for the next ones: a list in a file of its own. */
export class Remembered {
  /** From earlier runs. Nothing where nothing was kept, or it is damaged. */
  readonly items: readonly string[];
  readonly #folder: string;
  readonly #path: string;

  /** @param program path without links @param folder where such lists are kept, of all programs */
  constructor(program: string, folder: string) {
    this.#folder = folder;
    const name = createHash("sha256").update(program).digest("hex").slice(0, NAME_DIGITS);
    this.#path = join(folder, `${name}.json`);
    this.items = readItems(this.#path);
  }

  /** Remembers these, and nothing else. @returns whether they could be written down */
  keep(items: Iterable<string>): boolean {
    const all = [...new Set(items)].slice(0, MOST_ITEMS);
    try {
      makeFolders(this.#folder, 0o700);
      writeWholeFile(this.#path, (file) => file.write(JSON.stringify(all)), KEPT_MODE);
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
    return Array.isArray(items) ? items.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

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

/** More are counted. */
const FILES_NAMED = 5;

/**
 * Sentences about what of a program ran as it is, without a tool's code.
 *
 * @param later files that were met while it ran @param isRemembered the next run has those rewritten that it did not make
 */
export function notCounted(
  files: readonly RewrittenFile[],
  later: Pick<LaterFiles, "met" | "made">,
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
  const left = facts.reduce((sum, { leftAlone }) => sum + leftAloneCount(leftAlone), 0);
  const functions = facts.reduce((sum, one) => sum + one.functions, left);
  if (left > 0)
    sentences.push(
      `${counted(left, "function of", "functions of")} ${groupDigits(functions)} ran as ${left === 1 ? "it is" : "they are"}: stubs, frames of signals, what cannot be decoded, and what is data, too.`,
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
  const { met, made } = later;
  if (met.length > 0) sentences.push(`${laterInWords(met, isRemembered)}: ${namesOf(met)}.`);
  if (made.length > 0)
    sentences.push(
      `${counted(made.length, "file", "files")} that ${made.length === 1 ? "was" : "were"} written meanwhile ran as ${made.length === 1 ? "it is" : "they are"}: ${namesOf(made)}.`,
    );
  return sentences;
}

/** Of a file that was rewritten: bytes of its code that are not known to be functions. */
export function bytesLeftAlone({ facts }: RewrittenFile): number {
  return "refused" in facts ? 0 : facts.withoutFrames;
}

/** What is said of files that were met while the program ran. */
export function laterInWords({ length }: readonly string[], isRemembered: boolean): string {
  const many = length !== 1;
  const next = isRemembered ? `the next run has ${many ? "them" : "it"}` : "they cannot be remembered";
  return `${counted(length, "file", "files")} that ${many ? "were" : "was"} loaded later ran as ${many ? "they are" : "it is"}; ${next}`;
}

/** What is said of programs that were started and have another dynamic linker than ours, or none. */
export function othersInWords(paths: readonly string[]): string {
  const [were, have, they] = paths.length === 1 ? ["was", "has", "it"] : ["were", "have", "they"];
  return `${counted(paths.length, "program", "programs")} that ${were} started (${namesOf(paths)}) ${have} another dynamic linker or none: where ${they} ${have} read files of this run, ${they} ${have} found rewritten ones`;
}

/** What is said of files whose code was read as data. */
export function readInWords(paths: readonly string[], isRemembered: boolean): string {
  const many = paths.length !== 1;
  const next = isRemembered
    ? `the next run has ${many ? "these files as they are" : "that file as it is"}`
    : "that cannot be remembered";
  return `the program has read its own code as data (${namesOf(paths)}), where memshade had put jumps into it: what it made of that may be wrong; ${next}`;
}

/** Names of files, as many as a sentence takes. */
export function namesOf(paths: readonly string[]): string {
  return listed(paths.map((path) => basename(path)));
}

function listed(names: readonly string[]): string {
  const rest = names.length - FILES_NAMED;
  return names.slice(0, FILES_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
