/** Types of the language by the letters that stand for them. */
const PRIMITIVES: Readonly<Record<string, string>> = {
  b: "Bool",
  c: "Char",
  d: "Double",
  f: "Float",
  i: "Int",
  j: "UInt",
  l: "Int64",
  m: "UInt64",
  s: "String",
  u: "Unit",
  y: "Byte",
  z: "Bytes",
};

/** Letters in front of a type that say what becomes of it. */
const WRAPPED: Readonly<Record<string, (of: string) => string>> = {
  A: (of) => `FixedArray[${of}]`,
  O: (of) => `${of}?`,
};

/** Types of types of … that are read. */
const DEEPEST_TYPE = 64;

/**
 * A linker's name of MoonBit as the language writes it: `_M0MPB3Map3setGsRP24user3lib4NodeE` is `Map::set[String, @lib.Node]`. What is
 * written in another way stays as it is.
 */
export function demangleMoonbit(name: string): string {
  return new Reader(name).symbol() ?? name;
}

/** Reads a name from left to right; each part answers undefined where it is not there. */
class Reader {
  readonly #text: string;
  #at = "_M0".length;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  symbol(): string | undefined {
    const kind = this.#text[this.#at++];
    if (kind === "F") return this.#function();
    if (kind === "M") return this.#method();
    if (kind === "I") return this.#ofTrait();
    if (kind === "T") return this.#ended(this.#type(true));
    // The constructor of an enumeration is named as a method of it is.
    return kind === "D" && this.#takes("T") ? this.#method() : undefined;
  }

  #function(): string | undefined {
    const owner = this.#package();
    const name = this.#identifier();
    if (owner === undefined || name === undefined) return undefined;
    const inner: string[] = [];
    while (this.#takes("N")) inner.push(this.#identifier() ?? "?");
    return this.#ended(`${owner}${[name, ...inner].join(".")}${this.#stamp()}${this.#arguments()}`);
  }

  #method(): string | undefined {
    const type = this.#path();
    const name = this.#identifier();
    return type === undefined || name === undefined
      ? undefined
      : this.#ended(`${type}::${name}${this.#arguments()}`);
  }

  /** A function of a trait for a type; the trait is left out, but where it has the function for all types. */
  #ofTrait(): string | undefined {
    const type = this.#path();
    const trait = this.#path();
    const name = this.#identifier();
    if (type === undefined || trait === undefined || name === undefined) return undefined;
    const owner = type === "$default_impl" ? trait : type;
    return this.#ended(`${owner}::${name}${this.#arguments()}`);
  }

  /** @param isNamed a path may stand for itself */
  #type(isNamed = false): string | undefined {
    if (this.#depth > DEEPEST_TYPE) return undefined;
    this.#depth++;
    const type = this.#typeInside(isNamed);
    this.#depth--;
    return type;
  }

  #typeInside(isNamed: boolean): string | undefined {
    const letter = this.#text[this.#at]!;
    if (letter === "R" || (isNamed && letter === "P")) {
      if (letter === "R") this.#at++;
      const path = this.#path();
      return path === undefined ? undefined : `${path}${this.#arguments()}`;
    }
    this.#at++;
    if (WRAPPED[letter] === undefined) return PRIMITIVES[letter];
    const of = this.#type();
    return of && WRAPPED[letter](of);
  }

  /** `[String, @lib.Node]`, or nothing. */
  #arguments(): string {
    if (!this.#takes("G")) return "";
    const types: string[] = [];
    while (!this.#takes("E")) {
      const type = this.#at < this.#text.length ? this.#type() : undefined;
      // What is not known ends the name, as far as this goes.
      if (type === undefined) {
        this.#at = this.#text.length;
        return "[…]";
      }
      types.push(type);
    }
    return `[${types.join(", ")}]`;
  }

  #path(): string | undefined {
    const owner = this.#package();
    const name = this.#identifier();
    return owner === undefined || name === undefined ? undefined : `${owner}${name}`;
  }

  /** `@lib.`; nothing for what the language has. */
  #package(): string | undefined {
    if (!this.#takes("P")) return undefined;
    if (this.#takes("B")) return "";
    const isCore = this.#takes("C");
    const count = Number(this.#text[this.#at++]);
    let last: string | undefined;
    for (let part = 0; part < count; part++) {
      last = this.#identifier();
      if (last === undefined) return undefined;
    }
    return last === undefined || isCore ? "" : `@${last}.`;
  }

  /** Behind its length; `__` is a line, `_2f` the character with that code. */
  #identifier(): string | undefined {
    const digits = /\d+/y;
    digits.lastIndex = this.#at;
    const length = digits.exec(this.#text)?.[0];
    const start = this.#at + (length?.length ?? 0);
    if (length === undefined || start + Number(length) > this.#text.length) return undefined;
    this.#at = start + Number(length);
    return this.#text
      .slice(start, this.#at)
      .replace(/__|_([0-9a-f]{2})/g, (_, code) =>
        code === undefined ? "_" : String.fromCharCode(Number.parseInt(code, 16)),
      );
  }

  /** The number that tells functions inside of functions apart. */
  #stamp(): string {
    const stamp = /S\d+/y;
    stamp.lastIndex = this.#at;
    this.#at += stamp.exec(this.#text)?.[0].length ?? 0;
    return "";
  }

  #takes(letter: string): boolean {
    if (this.#text[this.#at] !== letter) return false;
    this.#at++;
    return true;
  }

  /** The name, if all of it was read. */
  #ended(name: string | undefined): string | undefined {
    return this.#at >= this.#text.length ? name : undefined;
  }
}
