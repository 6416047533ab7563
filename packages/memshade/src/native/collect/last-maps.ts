import { readFileSync } from "node:fs";

/** What a process had mapped when somebody looked last. */
export class LastMaps {
  /** As the kernel tells it; empty: nobody could look. */
  text = "";
  readonly #path: string;

  constructor(pid: number) {
    this.#path = `/proc/${pid}/maps`;
  }

  /** To be called now and then. */
  look(): void {
    try {
      this.text = readFileSync(this.#path, "latin1") || this.text;
    } catch {
      // It has ended.
    }
  }
}
