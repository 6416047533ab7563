import { readlinkSync } from "node:fs";

const DELETED = / \(deleted\)$/;

/** What a process runs by now, where that is not what it began with: then what was recorded ends there. */
export class ReplacedProgram {
  /** Path of the last program that it has replaced itself by. */
  path: string | undefined;
  readonly #link: string;
  readonly #before: ReadonlySet<string>;

  /** @param pid of the process @param before paths, without links, of its program and of what has become that */
  constructor(pid: number, before: readonly string[]) {
    this.#link = `/proc/${pid}/exe`;
    this.#before = new Set(before);
  }

  /** To be called often. */
  look(): void {
    const path = this.#read()?.replace(DELETED, "");
    if (path !== undefined && !this.#before.has(path)) this.path = path;
  }

  /** Undefined where it has ended, or nobody may look. */
  #read(): string | undefined {
    try {
      return readlinkSync(this.#link);
    } catch {
      return undefined;
    }
  }
}
