import { UserError } from "../../ground/bytes/errors.ts";
import { type FramePattern, LEAK_KINDS, type LeakKind, type Suppression } from "../model/suppression.ts";

const ALL_KINDS: ReadonlySet<LeakKind> = new Set(LEAK_KINDS);
/** Line of a sanitizer's suppression file. Only `leak:` lines, of LeakSanitizer, are about leaks. */
const SANITIZER_LINE = /^(\w+):(.*)$/;
const LEAST_LINES = 3;

interface Line {
  readonly text: string;
  readonly number: number;
}

/**
 * Reads the leak suppressions in a file with memcheck's syntax, LeakSanitizer's, or both. Suppressions of other errors
 * are left out.
 *
 * @param file name of the file in messages.
 * @throws UserError with the file and the line that is in neither syntax.
 */
export function readSuppressions(text: string, file: string): Suppression[] {
  return new Reader(text, file).read();
}

class Reader {
  readonly #file: string;
  readonly #lines: readonly Line[];
  #next = 0;
  #comment: string[] = [];

  constructor(text: string, file: string) {
    this.#file = file;
    this.#lines = text.split(/\r?\n/).map((line, index) => ({ text: line.trim(), number: index + 1 }));
  }

  read(): Suppression[] {
    const found: Suppression[] = [];
    for (let line = this.#take(); line !== undefined; line = this.#take())
      if (line.text === "") this.#comment = [];
      else if (line.text.startsWith("#")) this.#comment.push(line.text.replace(/^#+\s*/, ""));
      else {
        const suppression = line.text === "{" ? this.#memcheck(line) : this.#sanitizer(line);
        if (suppression !== undefined) found.push(suppression);
        this.#comment = [];
      }
    return found;
  }

  #take(): Line | undefined {
    return this.#lines[this.#next++];
  }

  /** Reads `leak:pattern`; the preceding comment is its reason. */
  #sanitizer(line: Line): Suppression | undefined {
    const [, kind, pattern] = SANITIZER_LINE.exec(line.text) ?? [];
    if (kind === undefined || pattern === undefined)
      this.#fail(line, `neither "{" nor leak:PATTERN: "${line.text}"`);
    if (pattern.trim() === "") this.#fail(line, `nothing behind ${kind}:`);
    if (kind !== "leak") return undefined;
    return {
      name: line.text,
      reason: this.#reason(),
      place: this.#placeOf(line),
      kinds: ALL_KINDS,
      path: pattern.trim(),
    };
  }

  /** Reads from after "{" to "}": a name, the suppressed error, and frames. */
  #memcheck(start: Line): Suppression | undefined {
    const lines: Line[] = [];
    for (let line = this.#take(); line?.text !== "}"; line = this.#take()) {
      if (line === undefined || line.text === "{") this.#fail(start, `"{" without "}"`);
      if (line.text !== "" && !line.text.startsWith("#")) lines.push(line);
    }
    const [name, error, ...rest] = lines;
    if (name === undefined || error === undefined || lines.length < LEAST_LINES)
      this.#fail(start, "a suppression has a name, a kind such as Memcheck:Leak, and frames, a line each");
    const [, tools, kind] = /^([\w,]+):(\w+)$/.exec(error.text) ?? [];
    if (tools === undefined) this.#fail(error, `no kind such as Memcheck:Leak: "${error.text}"`);
    if (kind !== "Leak" || !tools.split(",").includes("Memcheck")) return undefined;
    const kinds = rest[0]?.text.startsWith("match-leak-kinds:") ? this.#kinds(rest.shift()!) : ALL_KINDS;
    if (rest.length === 0) this.#fail(error, "no frames behind it");
    return {
      name: name.text,
      reason: this.#reason(),
      place: this.#placeOf(start),
      kinds,
      path: rest.map((line) => this.#frame(line)),
    };
  }

  #kinds(line: Line): ReadonlySet<LeakKind> {
    const kinds = line.text.slice(line.text.indexOf(":") + 1).trim();
    if (kinds === "all") return ALL_KINDS;
    if (kinds === "none") return new Set();
    return new Set(
      kinds.split(",").map((text) => {
        const kind = LEAK_KINDS.find((candidate) => candidate === text.trim());
        return kind ?? this.#fail(line, `"${text.trim()}" is none of ${LEAK_KINDS.join(", ")}, all`);
      }),
    );
  }

  #frame(line: Line): FramePattern {
    if (line.text === "...") return { kind: "any" };
    const [, key, glob] = /^(fun|obj|src):(.+)$/.exec(line.text) ?? [];
    if (key === undefined || glob === undefined)
      this.#fail(line, `none of fun:, obj:, src: and "...": "${line.text}"`);
    if (key === "fun") return { kind: "function", glob };
    if (key === "obj") return { kind: "object", glob };
    const [, file, number] = /^(.*):(\d+)$/.exec(glob) ?? [];
    return file === undefined
      ? { kind: "source", glob }
      : { kind: "source", glob: file, line: Number(number) };
  }

  #reason(): string | undefined {
    return this.#comment.length === 0 ? undefined : this.#comment.join(" ");
  }

  #placeOf({ number }: Line): string {
    return `${this.#file}:${number}`;
  }

  #fail(line: Line, fault: string): never {
    throw new UserError(`${this.#placeOf(line)}: ${fault}`);
  }
}
