/** Thrown where the text is no mangled name of a kind that is known. */
export class NotMangled extends Error {}

/** Nesting deeper than this is no work of a compiler. */
const DEEPEST = 400;

/** A place in a mangled name, and the tokens that are no names of anything. */
export class MangledText {
  readonly text: string;
  pos = 0;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  look(ahead = 0): string {
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

  /** Parses one after the other up to a token behind the last one. */
  until<T>(end: string, parse: () => T): T[] {
    const parsed: T[] = [];
    while (!this.consume(end)) parsed.push(parse());
    return parsed;
  }

  /** Digits, perhaps after an `n` for a minus. */
  number(allowNegative = false): string {
    const start = this.pos;
    if (allowNegative) this.consume("n");
    while (/\d/.test(this.look())) this.pos++;
    if (this.pos === start) this.fail();
    return this.text.slice(start, this.pos);
  }

  /** `_` is 0, `0_` is 1, in base 36. */
  sequenceId(): number {
    if (this.consume("_")) return 0;
    let value = 0;
    let digits = 0;
    for (; /[0-9A-Z]/.test(this.look()); this.pos++) {
      value = value * 36 + Number.parseInt(this.look(), 36);
      digits++;
    }
    if (digits === 0 || value > 1e6) this.fail();
    this.expect("_");
    return value + 1;
  }

  /** `_` is the empty text, `0_` is "0". */
  count(): string {
    const count = this.look() === "_" ? "" : this.number();
    this.expect("_");
    return count;
  }

  /** A length and as many characters. */
  bareName(): string {
    const length = Number(this.number());
    if (length === 0 || length > this.text.length - this.pos) this.fail();
    const name = this.text.slice(this.pos, this.pos + length);
    this.pos += length;
    return name;
  }

  /** Which of several local entities of one name it is; nothing that a reader is shown. */
  discriminator(): void {
    if (this.look() === "_") {
      if (/\d/.test(this.look(1))) this.pos += 2;
      else if (this.look(1) === "_") {
        let at = this.pos + 2;
        while (/\d/.test(this.text[at] ?? "")) at++;
        if (this.text[at] === "_" && at > this.pos + 2) this.pos = at + 1;
      }
    } else if (/\d/.test(this.look()) && /^\d+$/.test(this.text.slice(this.pos))) this.pos = this.text.length;
  }
}
