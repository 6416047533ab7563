import type { ObjectFile } from "../../../code/objects/types.ts";

const RELA_BYTES = 24;
const SYMBOL_BYTES = 24;
const [R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT] = [6, 7];

/** Names of functions of other objects, by where the dynamic linker writes their addresses (SVMA). */
export function importedFunctions(object: ObjectFile): Map<number, string> {
  const names = new Map<number, string>();
  const symbols = contentOf(object, ".dynsym");
  const strings = contentOf(object, ".dynstr");
  for (const section of [".rela.plt", ".rela.dyn"]) {
    const relocations = contentOf(object, section);
    const view = new DataView(relocations.buffer, relocations.byteOffset, relocations.length);
    for (let at = 0; at + RELA_BYTES <= relocations.length; at += RELA_BYTES) {
      const type = view.getUint32(at + 8, true);
      if (type !== R_X86_64_GLOB_DAT && type !== R_X86_64_JUMP_SLOT) continue;
      const symbol = view.getUint32(at + 12, true) * SYMBOL_BYTES;
      if (symbol + SYMBOL_BYTES > symbols.length) continue;
      const name = new DataView(symbols.buffer, symbols.byteOffset + symbol).getUint32(0, true);
      const end = strings.indexOf(0, name);
      names.set(Number(view.getBigUint64(at, true)), new TextDecoder().decode(strings.subarray(name, end)));
    }
  }
  return names;
}

function contentOf(object: ObjectFile, name: string): Uint8Array {
  const section = object.sections.find((one) => one.name === name);
  return section === undefined ? new Uint8Array() : object.bytesAt(section.address, section.size);
}
