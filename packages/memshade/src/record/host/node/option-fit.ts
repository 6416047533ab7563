/** Whether `--allocator` fits any module of a program: only what fits none of them is a mistake. */
export class OptionFit {
  #fits = false;
  #firstMismatch: string | undefined;

  /** Takes in what a module says: why the option does not fit it, undefined if it does. */
  take(mismatch: string | undefined): void {
    if (mismatch === undefined) this.#fits = true;
    else this.#firstMismatch ??= mismatch;
  }

  /** The mistake in one line, if it is one. */
  get mistake(): string | undefined {
    if (this.#fits || this.#firstMismatch === undefined) return undefined;
    return `${this.#firstMismatch}. It fits no module of the program: the allocator was searched for instead.`;
  }
}
