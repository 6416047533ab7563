import { readlinkSync } from "node:fs";

/** What a process runs by now, where that is not what it began with: then what was recorded ends there. */
export class ReplacedProgram {
  /** Path of the last program that it has replaced itself by. */
  path: string | undefined;
  readonly #link: string;
  readonly #first: string | undefined;

  /** @param pid of a process that has begun to run its program */
  constructor(pid: number) {
    this.#link = `/proc/${pid}/exe`;
    this.#first = this.#read();
  }

  /** To be called often. */
  look(): void {
    const path = this.#read();
    if (path !== undefined && path !== this.#first) this.path = path;
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
