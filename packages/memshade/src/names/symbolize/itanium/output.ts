/** Names longer than this are made by bombs of substitutions, not by compilers. */
const LONGEST = 1 << 20;
/** The same for names that print nothing for ever. */
const MOST_STEPS = 1 << 22;

/** The text of a name as it is printed, and what nodes must know of their surroundings. */
export class Output {
  text = "";
  /** Whether this is among template arguments, at whatever depth. */
  isInTemplateArgs = false;
  /** A `>` is an operator here and not the end of template arguments. Outside of them LLVM never takes it for one. */
  gtIsGt = false;
  /** Element of parameter packs that is printed, and their number; −1 outside of an expansion. */
  packIndex = -1;
  packSize = -1;
  #steps = 0;

  add(text: string): void {
    this.text += text;
    this.#steps += 1;
    if (this.text.length > LONGEST || this.#steps > MOST_STEPS) throw new RangeError("a name without end");
  }

  get last(): string {
    return this.text.at(-1) ?? "";
  }

  /** Prints something in parentheses, where `>` is itself. */
  parenthesized(print: () => void, open = "(", close = ")"): void {
    this.add(open);
    const before = this.gtIsGt;
    this.gtIsGt = this.isInTemplateArgs;
    print();
    this.gtIsGt = before;
    this.add(close);
  }

  /** Prints something in angle brackets, where a comparison stands in parentheses. */
  bracketed(print: () => void): void {
    const { gtIsGt, isInTemplateArgs } = this;
    this.gtIsGt = false;
    this.isInTemplateArgs = true;
    this.add("<");
    print();
    this.add(">");
    this.gtIsGt = gtIsGt;
    this.isInTemplateArgs = isInTemplateArgs;
  }
}
