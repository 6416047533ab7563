import type { FrameRules } from "./frame-rules.ts";
import type { NamedFrame } from "./libraries.ts";

const SOURCELESS = "code without debug information";

/**
 * Finds functions without lines in modules that have debug information. Such functions were linked in from ready-made
 * code, such as a C library, and are not the program's own.
 */
export class SourcelessCode {
  readonly #rules: FrameRules;
  readonly #modules = new Set<unknown>();
  readonly #functions = new Set<string>();

  constructor(rules: FrameRules) {
    this.#rules = rules;
  }

  /** Adds a place in a function of a module. All places must be added before the first call of `libraryOf`. */
  add(module: unknown, name: unknown, file: string | undefined): void {
    if (file === undefined) return;
    this.#modules.add(module);
    this.#functions.add(`${module}\n${name}`);
  }

  /** Returns the name for a function's library; undefined if the function has lines, or nothing in its module has. */
  libraryOf(module: unknown, name: unknown, frame: NamedFrame): string | undefined {
    if (frame.function === undefined) return undefined;
    if (!this.#modules.has(module) || this.#functions.has(`${module}\n${name}`)) return undefined;
    return this.#rules.isNamedOwn(frame) ? undefined : SOURCELESS;
  }
}
