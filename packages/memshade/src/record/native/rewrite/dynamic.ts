import type { ObjectFile } from "../../../code/objects/types.ts";
import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";

const PT_DYNAMIC = 2;
const [DT_TEXTREL, DT_FLAGS, DF_TEXTREL] = [22, 30, 4];
const [DT_NULL, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELRSZ, DT_RELR] = [0, 6, 7, 8, 35, 36];
const [R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_RELATIVE, R_X86_64_IRELATIVE] = [1, 6, 8, 37];
const RELA_BYTES = 24;
/** Bytes of a symbol, and offsets of its section and address. */
const [SYMBOL_BYTES, SYMBOL_SECTION, SYMBOL_ADDRESS] = [24, 6, 8];
const WORD = 8;
const PF_X = 1;

/** A word of data that contains an address of the same object at run time. Both are SVMA. */
export interface Pointer {
  readonly place: number;
  readonly address: number;
}

/** Returns true if the dynamic linker writes into the code; it would change only the old code. */
export function hasTextRelocations(object: ObjectFile): boolean {
  const entries = dynamicEntries(object);
  return entries.has(DT_TEXTREL) || ((entries.get(DT_FLAGS) ?? 0) & DF_TEXTREL) !== 0;
}

function dynamicEntries(object: ObjectFile): Map<number, number> {
  const segment = object.programHeaders.find(({ type }) => type === PT_DYNAMIC);
  const dynamic = new Map<number, number>();
  if (segment === undefined) return dynamic;
  const words = viewOf(object.bytesAt(segment.address, segment.fileSize));
  for (let at = 0; at + 2 * WORD <= words.byteLength; at += 2 * WORD) {
    const tag = getU64(words, at);
    if (tag === DT_NULL) break;
    dynamic.set(tag, getU64(words, at + WORD));
  }
  return dynamic;
}

/** Yields the addresses (SVMA) that relocations write into the object's data, including addresses of code. */
export function* relocatedPointers(object: ObjectFile): Iterable<number> {
  for (const { type, address } of relocations(object))
    if (type === R_X86_64_RELATIVE || type === R_X86_64_IRELATIVE) yield address;
}

/**
 * Yields pointers in the object's data, including pointers to exported symbols. At fixed addresses, these are
 * all words that may be addresses of code.
 */
export function* pointersIn(object: ObjectFile): Iterable<Pointer> {
  if (object.type === "executable") yield* dataWords(object);
  for (const relocation of relocations(object)) if (relocation.type !== R_X86_64_IRELATIVE) yield relocation;
}

/**
 * Yields words of data that may be addresses of code or of its end. At fixed addresses, no relocation marks
 * pointers.
 */
export function* dataWords(object: ObjectFile): Iterable<Pointer> {
  const code = object.segments.filter(({ flags }) => (flags & PF_X) !== 0);
  const start = Math.min(...code.map(({ address }) => address));
  const end = Math.max(...code.map(({ address, fileSize }) => address + fileSize));
  for (const { flags, address: segment, fileSize } of object.segments) {
    if ((flags & PF_X) !== 0) continue;
    const view = viewOf(object.bytesAt(segment, fileSize));
    for (let at = -segment & (WORD - 1); at + WORD <= view.byteLength; at += WORD) {
      const address = view.getUint32(at, true);
      if (address >= start && address <= end && view.getUint32(at + 4, true) === 0)
        yield { place: segment + at, address };
    }
  }
}

function* relocations(object: ObjectFile): Iterable<Pointer & { readonly type: number }> {
  const dynamic = dynamicEntries(object);
  const table = (at: number, size: number): DataView =>
    viewOf(
      object.bytesAt(dynamic.get(at) ?? 0, dynamic.get(at) === undefined ? 0 : (dynamic.get(size) ?? 0)),
    );
  const entries = table(DT_RELA, DT_RELASZ);
  for (let at = 0; at + RELA_BYTES <= entries.byteLength; at += RELA_BYTES) {
    const type = entries.getUint32(at + WORD, true);
    let address = getU64(entries, at + 2 * WORD);
    if (type === R_X86_64_64 || type === R_X86_64_GLOB_DAT) {
      const symbols = dynamic.get(DT_SYMTAB);
      if (symbols === undefined) continue;
      const number = entries.getUint32(at + WORD + 4, true);
      const symbol = viewOf(object.bytesAt(symbols + SYMBOL_BYTES * number, SYMBOL_BYTES));
      if (symbol.byteLength < SYMBOL_BYTES || symbol.getUint16(SYMBOL_SECTION, true) === 0) continue;
      address += getU64(symbol, SYMBOL_ADDRESS);
    } else if (type !== R_X86_64_RELATIVE && type !== R_X86_64_IRELATIVE) continue;
    yield { type, place: getU64(entries, at), address };
  }
  for (const place of packedPlaces(table(DT_RELR, DT_RELRSZ))) {
    const word = viewOf(object.bytesAt(place, WORD));
    if (word.byteLength === WORD) yield { type: R_X86_64_RELATIVE, place, address: getU64(word, 0) };
  }
}

/** Yields the addresses in a RELR table: words with an address, and bitmaps of the words after it. */
function* packedPlaces(words: DataView): Iterable<number> {
  let next = 0;
  for (let at = 0; at + WORD <= words.byteLength; at += WORD) {
    const word = words.getBigUint64(at, true);
    if ((word & 1n) === 0n) {
      yield Number(word);
      next = Number(word) + WORD;
      continue;
    }
    for (let bit = 1n; bit < 64n; bit++) if ((word >> bit) & 1n) yield next + WORD * (Number(bit) - 1);
    next += WORD * 63;
  }
}
