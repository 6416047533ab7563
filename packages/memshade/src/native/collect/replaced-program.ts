import { readlinkSync } from "node:fs";

/** What a process runs by now, where that is not what it began with: then what was recorded ends there. */
export class ReplacedProgram {
  /** Path of the last program that it has replaced itself by. */
  path: string | undefined;
  readonly #link: string;
  readonly #launcher: string | undefined;
  #first: string | undefined;

  /** @param pid of a process that has begun to run its program @param launcher path of what replaces itself by it */
  constructor(pid: number, launcher?: string) {
    this.#link = `/proc/${pid}/exe`;
    this.#launcher = launcher;
    this.#first = this.#read();
  }

  /** To be called often. */
  look(): void {
    const path = this.#read();
    this.#first ??= path;
    if (path !== undefined && path !== this.#first) this.path = path;
  }

  /** Undefined where it has ended or not begun, or nobody may look. */
  #read(): string | undefined {
    try {
      const path = readlinkSync(this.#link);
      return path === this.#launcher ? undefined : path;
    } catch {
      return undefined;
    }
  }
}
