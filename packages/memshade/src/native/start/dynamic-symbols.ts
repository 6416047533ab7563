import { type ObjectFile, readString } from "../../objects/index.ts";

const SYMBOL_BYTES = 24;
const [NAME, SECTION] = [0, 6];

/** Names by which the dynamic linker connects an object with others. */
export interface DynamicSymbols {
  defined: ReadonlySet<string>;
  /** What other objects are to have. */
  wanted: ReadonlySet<string>;
}

/** The dynamic symbols of an x86-64 object, without versions. None where it has no table of sections. */
export function dynamicSymbols(object: ObjectFile): DynamicSymbols {
  const symbols = object.section(".dynsym");
  const strings = object.section(".dynstr");
  const defined = new Set<string>();
  const wanted = new Set<string>();
  if (symbols === undefined || strings === undefined) return { defined, wanted };
  const view = new DataView(symbols.buffer, symbols.byteOffset, symbols.byteLength);
  for (let at = SYMBOL_BYTES; at + SYMBOL_BYTES <= symbols.length; at += SYMBOL_BYTES) {
    const name = readString(strings, view.getUint32(at + NAME, true));
    (view.getUint16(at + SECTION, true) === 0 ? wanted : defined).add(name);
  }
  return { defined, wanted };
}
