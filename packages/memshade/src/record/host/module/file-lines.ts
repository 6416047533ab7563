import { basename } from "node:path";
import { openObject } from "../../../code/objects/index.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { loadSymbolizer } from "../../../names/load/symbolizer.ts";
import type { LinesOf } from "../../tools/session.ts";
import { linesBy, moduleLines } from "./module-lines.ts";

/**
 * Resolves lines of modules from files, by their own debug information and by the files that they name, such as source
 * maps.
 */
export class FileLines {
  readonly #paths = new WeakMap<Uint8Array, string>();
  readonly #linesByModule = new WeakMap<Uint8Array, { lines: ReturnType<LinesOf> }>();
  readonly #note: (sentence: string) => void;

  /** @param note is called if a file that a module names is missing */
  constructor(note: (sentence: string) => void) {
    this.#note = note;
  }

  learn(original: Uint8Array, path: string | null): void {
    if (path !== null) this.#paths.set(original, path);
  }

  readonly linesOf: LinesOf = (original) => {
    const path = this.#paths.get(original);
    if (path === undefined) return moduleLines(original);
    const cached = entryOf(this.#linesByModule, original, () => ({ lines: this.#load(original, path) }));
    return cached.lines;
  };

  #load(original: Uint8Array, path: string): ReturnType<LinesOf> {
    try {
      const { symbolizer, frames, missing } = loadSymbolizer({ path, object: openObject(original) });
      for (const end of missing) this.#note(`${basename(path)} ${end}: source lines may be missing.`);
      return symbolizer.hasDebugInfo ? linesBy(frames) : undefined;
    } catch {
      return undefined;
    }
  }
}
