/** Builtin types of the language, by letter. */
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

/** Type constructors, by the letter before their argument. */
const WRAPPED: Readonly<Record<string, (argument: string) => string>> = {
  A: (argument) => `FixedArray[${argument}]`,
  O: (argument) => `${argument}?`,
};

const DEEPEST_TYPE = 64;

/**
 * Demangles a linker name of MoonBit: `_M0MPB3Map3setGsRP24user3lib4NodeE` becomes `Map::set[String, @lib.Node]`.
 * Other names stay unchanged.
 */
export function demangleMoonbit(name: string): string {
  return new Reader(name).symbol() ?? name;
}

/** Reads a name from left to right; each method returns undefined if its part is absent. */
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
    // The constructor of an enumeration is named like one of its methods.
    return kind === "D" && this.#consume("T") ? this.#method() : undefined;
  }

  #function(): string | undefined {
    const owner = this.#package();
    const name = this.#identifier();
    if (owner === undefined || name === undefined) return undefined;
    const inner: string[] = [];
    while (this.#consume("N")) inner.push(this.#identifier() ?? "?");
    return this.#ended(`${owner}${[name, ...inner].join(".")}${this.#stamp()}${this.#arguments()}`);
  }

  #method(): string | undefined {
    const type = this.#path();
    const name = this.#identifier();
    return type === undefined || name === undefined
      ? undefined
      : this.#ended(`${type}::${name}${this.#arguments()}`);
  }

  /** Reads a trait's function for a type. The trait is left out, unless it has the function for all types. */
  #ofTrait(): string | undefined {
    const type = this.#path();
    const trait = this.#path();
    const name = this.#identifier();
    if (type === undefined || trait === undefined || name === undefined) return undefined;
    const owner = type === "$default_impl" ? trait : type;
    return this.#ended(`${owner}::${name}${this.#arguments()}`);
  }

  /** @param isNamed true if a path without a prefix is allowed */
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
    const argument = this.#type();
    return argument && WRAPPED[letter](argument);
  }

  #arguments(): string {
    if (!this.#consume("G")) return "";
    const types: string[] = [];
    while (!this.#consume("E")) {
      const type = this.#at < this.#text.length ? this.#type() : undefined;
      // An unknown part ends the name here.
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

  /** Reads `@lib.`; empty for builtin packages. */
  #package(): string | undefined {
    if (!this.#consume("P")) return undefined;
    if (this.#consume("B")) return "";
    const isCore = this.#consume("C");
    const count = Number(this.#text[this.#at++]);
    let last: string | undefined;
    for (let part = 0; part < count; part++) {
      last = this.#identifier();
      if (last === undefined) return undefined;
    }
    return last === undefined || isCore ? "" : `@${last}.`;
  }

  /** Reads an identifier after its length; `__` is an underscore, `_2f` the character with that code. */
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

  /** Skips the number that distinguishes functions inside of functions. */
  #stamp(): string {
    const stamp = /S\d+/y;
    stamp.lastIndex = this.#at;
    this.#at += stamp.exec(this.#text)?.[0].length ?? 0;
    return "";
  }

  #consume(letter: string): boolean {
    if (this.#text[this.#at] !== letter) return false;
    this.#at++;
    return true;
  }

  #ended(name: string | undefined): string | undefined {
    return this.#at >= this.#text.length ? name : undefined;
  }
}
