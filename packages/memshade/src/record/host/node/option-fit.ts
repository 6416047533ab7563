/**
 * Records whether `--allocator` fits any module of a program. It is a mistake only if it fits none.
 */
export class OptionFit {
  #fits = false;
  #firstMismatch: string | undefined;

  /** Adds the result for a module: the reason why the option does not fit, undefined if it does. */
  take(mismatch: string | undefined): void {
    if (mismatch === undefined) this.#fits = true;
    else this.#firstMismatch ??= mismatch;
  }

  get mistake(): string | undefined {
    if (this.#fits || this.#firstMismatch === undefined) return undefined;
    return `${this.#firstMismatch}. --allocator fits no module of the program: the allocator was searched for instead.`;
  }
}
