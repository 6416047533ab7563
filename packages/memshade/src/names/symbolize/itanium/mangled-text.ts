/** Thrown if the text is no mangled name of a known kind. */
export class NotMangled extends Error {}

/** Maximum nesting; compilers do not exceed it. */
const DEEPEST = 400;

/** Read position in a mangled name, with parsers for the simple tokens. */
export class MangledText {
  readonly text: string;
  pos = 0;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  peek(ahead = 0): string {
    return this.text[this.pos + ahead] ?? "";
  }

  consume(text: string): boolean {
    if (!this.text.startsWith(text, this.pos)) return false;
    this.pos += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.consume(text)) this.fail();
  }

  fail(): never {
    throw new NotMangled();
  }

  deeper<T>(parse: () => T): T {
    if (++this.#depth > DEEPEST) this.fail();
    const result = parse();
    this.#depth--;
    return result;
  }

  /** Repeats a parser up to the token `end`. */
  until<T>(end: string, parse: () => T): T[] {
    const parsed: T[] = [];
    while (!this.consume(end)) parsed.push(parse());
    return parsed;
  }

  /** Parses digits, possibly after an `n` for a minus. */
  number(allowNegative = false): string {
    const start = this.pos;
    if (allowNegative) this.consume("n");
    while (/\d/.test(this.peek())) this.pos++;
    if (this.pos === start) this.fail();
    return this.text.slice(start, this.pos);
  }

  /** Parses a number in base 36: `_` is 0, `0_` is 1. */
  sequenceId(): number {
    if (this.consume("_")) return 0;
    let value = 0;
    let digits = 0;
    for (; /[0-9A-Z]/.test(this.peek()); this.pos++) {
      value = value * 36 + Number.parseInt(this.peek(), 36);
      digits++;
    }
    if (digits === 0 || value > 1e6) this.fail();
    this.expect("_");
    return value + 1;
  }

  /** Parses a count: `_` is the empty text, `0_` is "0". */
  count(): string {
    const count = this.peek() === "_" ? "" : this.number();
    this.expect("_");
    return count;
  }

  /** Parses a length and as many characters. */
  bareName(): string {
    const length = Number(this.number());
    if (length === 0 || length > this.text.length - this.pos) this.fail();
    const name = this.text.slice(this.pos, this.pos + length);
    this.pos += length;
    return name;
  }

  /** Skips the number that distinguishes local entities of one name; it is not printed. */
  discriminator(): void {
    if (this.peek() === "_") {
      if (/\d/.test(this.peek(1))) this.pos += 2;
      else if (this.peek(1) === "_") {
        let at = this.pos + 2;
        while (/\d/.test(this.text[at] ?? "")) at++;
        if (this.text[at] === "_" && at > this.pos + 2) this.pos = at + 1;
      }
    } else if (/\d/.test(this.peek()) && /^\d+$/.test(this.text.slice(this.pos))) this.pos = this.text.length;
  }
}
