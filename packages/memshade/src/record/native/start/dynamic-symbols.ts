import type { ObjectFile } from "../../../code/objects/index.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";

const SYMBOL_BYTES = 24;
const [NAME, SECTION, VALUE] = [0, 6, 8];

/** Names by which the dynamic linker links an object to others. */
export interface DynamicSymbols {
  /** Exported names, with their addresses in the object. */
  defined: ReadonlyMap<string, number>;
  wanted: ReadonlySet<string>;
}

/** First letters of C++ names: `_Z`; `n` and `d` follow in operators `new` and `delete`. */
const [UNDERSCORE, Z, N, D] = [0x5f, 0x5a, 0x6e, 0x64];

/**
 * Reads the dynamic symbols of an x86-64 object, without versions. Empty for an object without section
 * headers. C++ functions are left out except operators `new` and `delete`: they are no allocator's, and very
 * many.
 */
export function dynamicSymbols(object: ObjectFile): DynamicSymbols {
  const symbols = object.section(".dynsym");
  const strings = object.section(".dynstr");
  const defined = new Map<string, number>();
  const wanted = new Set<string>();
  if (symbols === undefined || strings === undefined) return { defined, wanted };
  const view = viewOf(symbols);
  // Decoded at once: a C library has thousands of names, and decoding one takes longer than finding its end.
  const text = `${Buffer.from(strings.buffer, strings.byteOffset, strings.byteLength).toString("latin1")}\0`;
  for (let at = SYMBOL_BYTES; at + SYMBOL_BYTES <= symbols.length; at += SYMBOL_BYTES) {
    const nameAt = view.getUint32(at + NAME, true);
    const [first, second, third] = [strings[nameAt], strings[nameAt + 1], strings[nameAt + 2]];
    if (first === UNDERSCORE && second === Z && third !== N && third !== D) continue;
    const name = text.slice(nameAt, text.indexOf("\0", nameAt));
    if (view.getUint16(at + SECTION, true) === 0) wanted.add(name);
    else defined.set(name, Number(view.getBigUint64(at + VALUE, true)));
  }
  return { defined, wanted };
}
