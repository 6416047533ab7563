import type { FrameRules } from "./frame-rules.ts";
import type { NamedFrame } from "./libraries.ts";

const SOURCELESS = "code without debug information";

/**
 * Functions of which no line is known, in modules that have debug information: what was linked in ready-made, such as a C library, which
 * is not the program's own.
 */
export class SourcelessCode {
  readonly #rules: FrameRules;
  readonly #modules = new Set<unknown>();
  readonly #functions = new Set<string>();

  constructor(rules: FrameRules) {
    this.#rules = rules;
  }

  /** A place in a function of a module: all are to be added before the first question. */
  add(module: unknown, name: unknown, file: string | undefined): void {
    if (file === undefined) return;
    this.#modules.add(module);
    this.#functions.add(`${module}\n${name}`);
  }

  /** The word for a function's library, undefined if it has lines or nothing in its module has. */
  libraryOf(module: unknown, name: unknown, frame: NamedFrame): string | undefined {
    if (frame.function === undefined) return undefined;
    if (!this.#modules.has(module) || this.#functions.has(`${module}\n${name}`)) return undefined;
    return this.#rules.isNamedOwn(frame) ? undefined : SOURCELESS;
  }
}
