import { FormatError } from "../../ground/bytes/errors.ts";
import { DW_FORM_implicit_const } from "./constants.ts";
import { Cursor } from "./cursor.ts";
import { type Encoding, formSize } from "./forms.ts";

/** The shape of a debugging information entry: its tag and what attributes follow, in which form. */
export interface Abbreviation {
  readonly tag: number;
  readonly hasChildren: boolean;
  readonly attributes: readonly number[];
  readonly forms: readonly number[];
  /** Values of `DW_FORM_implicit_const`, by attribute. */
  readonly constants: readonly number[];
  /** Bytes of each value, or a `SIZE_*`. */
  readonly sizes: readonly number[];
  /** How to pass over the values: numbers of bytes, or of forms whose size depends on the bytes (negative). */
  readonly skips: readonly number[];
}

/** No real program has more; sparse code numbers above do not make for large arrays. */
const LARGEST_CODE = 2 ** 16;

/** One table of `.debug_abbrev`. It is read as far as the codes asked for so far need. */
export class AbbreviationTable {
  readonly #byCode: (Abbreviation | undefined)[] = [];
  readonly #byLargeCode = new Map<number, Abbreviation>();
  readonly #cursor: Cursor;
  readonly #encoding: Encoding;
  readonly #spend: (bytes: number) => void;
  #complete = false;

  /** @param spend is told how many bytes were read, and throws if they have become too many */
  constructor(bytes: Uint8Array, offset: number, encoding: Encoding, spend: (bytes: number) => void) {
    this.#cursor = new Cursor(bytes, offset, ".debug_abbrev");
    this.#encoding = encoding;
    this.#spend = spend;
  }

  /** @throws FormatError if there is no such code */
  get(code: number): Abbreviation {
    const known = this.#byCode[code] ?? this.#find(code);
    if (known === undefined)
      throw new FormatError("malformed", this.#cursor.position, ".debug_abbrev", `there is no code ${code}`);
    return known;
  }

  #find(code: number): Abbreviation | undefined {
    const large = this.#byLargeCode.get(code);
    if (large !== undefined) return large;
    while (!this.#complete)
      if (this.#readNext() === code) return this.#byCode[code] ?? this.#byLargeCode.get(code);
    return undefined;
  }

  #readNext(): number {
    const cursor = this.#cursor;
    const start = cursor.position;
    // Until it turns out well: a damaged table is not tried again.
    this.#complete = true;
    const code = cursor.uleb();
    if (code === 0) return 0;
    const tag = cursor.uleb();
    const hasChildren = cursor.u8() !== 0;
    const attributes: number[] = [];
    const forms: number[] = [];
    const constants: number[] = [];
    const sizes: number[] = [];
    const skips: number[] = [];
    for (;;) {
      const attribute = cursor.uleb();
      const form = cursor.uleb();
      const constant = form === DW_FORM_implicit_const ? cursor.sleb() : 0;
      if (attribute === 0 && form === 0) break;
      attributes.push(attribute);
      forms.push(form);
      constants.push(constant);
      const size = formSize(form, this.#encoding);
      sizes.push(size);
      const last = skips.length - 1;
      if (size >= 0 && last >= 0 && skips[last] >= 0) skips[last] += size;
      else skips.push(size);
    }
    this.#spend(cursor.position - start);
    const abbreviation = { tag, hasChildren, attributes, forms, constants, sizes, skips };
    if (code < LARGEST_CODE) this.#byCode[code] ??= abbreviation;
    else if (!this.#byLargeCode.has(code)) this.#byLargeCode.set(code, abbreviation);
    this.#complete = false;
    return code;
  }
}
