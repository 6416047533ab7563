import { FormatError } from "../../../bytes/errors.ts";
import { ArithmeticReader, ArithmeticWriter, EndOfBits, NO_CODER } from "./arithmetic.ts";
import { BitModel } from "./bit-model.ts";
import { codeProfile } from "./code-profile.ts";
import type { CompactProfile } from "./compact-profile.ts";
import { SymbolCoder, TooManySymbols } from "./symbol-coder.ts";
import { SETS, TEXT, TEXT_SETS, TextHistory } from "./text-coder.ts";
import { FILES } from "./words/files.ts";
import { NAMES } from "./words/names.ts";

export { type CompactProfile, compactOf, profileOf } from "./compact-profile.ts";

/** A chunk that has a whole profile. */
export interface PackedProfile {
  readonly bytes: Uint8Array;
  readonly symbols: number;
}

/** A chunk may have so many symbols, and some for each of its bytes. */
const MOST_SYMBOLS = 1 << 19;
const SYMBOLS_OF_NONE = 4096;
const SYMBOLS_PER_BYTE = 64;
const isTooMany = (symbols: number, bytes: number) =>
  symbols > Math.min(MOST_SYMBOLS, SYMBOLS_OF_NONE + SYMBOLS_PER_BYTE * bytes);

/** What is known of bits and texts. */
class Knowledge {
  readonly model = new BitModel(SETS);
  readonly texts = new TextHistory();

  /** Learns the words that functions and files of C++ programs are named with. */
  learnWords(): void {
    // Bytes have twice as many sources as numbers.
    for (let set = 1; set <= TEXT_SETS; set++) this.model.scaleWeights(SETS - set, 0.5);
    const coder = new SymbolCoder(this.model, NO_CODER, Number.POSITIVE_INFINITY);
    for (const file of FILES) this.texts.text(coder, TEXT.file, file);
    for (const name of NAMES) this.texts.text(coder, TEXT.name, name);
  }

  becomeLike({ model, texts }: Knowledge): void {
    this.model.becomeLike(model);
    this.texts.becomeLike(texts);
  }
}

let words: Knowledge | undefined;
let current: Knowledge | undefined;

/** What is known before a profile; valid until the next one. */
function begin(): Knowledge {
  if (words === undefined) {
    words = new Knowledge();
    words.learnWords();
  }
  current ??= new Knowledge();
  current.becomeLike(words);
  return current;
}

/** The bytes of a profile; undefined if it is too large for this. */
export function packProfile(profile: CompactProfile): PackedProfile | undefined {
  if (!isStorable(profile)) return undefined;
  const { model, texts } = begin();
  const writer = new ArithmeticWriter();
  const coder = new SymbolCoder(model, writer, MOST_SYMBOLS);
  try {
    codeProfile(coder, texts, profile);
  } catch (error) {
    if (error instanceof TooManySymbols) return undefined;
    throw error;
  }
  const bytes = writer.finish();
  return isTooMany(coder.symbols, bytes.length) ? undefined : { bytes, symbols: coder.symbols };
}

/**
 * @param symbols as many as were written
 * @throws FormatError of kind malformed
 */
export function unpackProfile(bytes: Uint8Array, symbols: number, offset: number): CompactProfile {
  const damaged = new FormatError("malformed", offset, "memshade profile", "it cannot be unpacked");
  if (isTooMany(symbols, bytes.length)) throw damaged;
  const { model, texts } = begin();
  const coder = new SymbolCoder(model, new ArithmeticReader(bytes), symbols);
  try {
    const profile = codeProfile(coder, texts, undefined);
    if (coder.symbols === symbols) return profile;
  } catch (error) {
    if (!(error instanceof TooManySymbols || error instanceof EndOfBits)) throw error;
  }
  throw damaged;
}

/** Whether build ids are bytes, and texts end where they end. */
function isStorable({ origin, frames }: CompactProfile): boolean {
  const ids = [...origin.binaries.map(({ buildId }) => buildId), ...origin.unmatched];
  const texts = [
    ...origin.binaries.map(({ name }) => name),
    ...frames.flatMap(({ name, file }) => [name ?? "", file ?? ""]),
  ];
  return (
    ids.every((buildId) => /^(?:[0-9a-f]{2}){0,64}$/.test(buildId)) &&
    texts.every((text) => !text.includes("\0"))
  );
}
