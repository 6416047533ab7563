import type { ObjectFile } from "../../../code/objects/types.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { Code } from "./code.ts";
import type { NewText } from "./emit.ts";

const HEADER_BYTES = 64;
const SYMBOL_BYTES = 24;
/** Offsets in the file header. */
const [E_SHOFF, E_SHENTSIZE, E_SHNUM, E_SHSTRNDX] = [40, 58, 60, 62];
/** Offsets in a section header. */
const [SH_NAME, SH_TYPE, SH_FLAGS, SH_ADDR, SH_OFFSET, SH_SIZE, SH_LINK, SH_INFO, SH_ALIGN, SH_ENTSIZE] = [
  0, 4, 8, 16, 24, 32, 40, 44, 48, 56,
];
const [SHT_PROGBITS, SHT_SYMTAB, SHT_DYNSYM] = [1, 2, 11];
const [SHF_ALLOC, SHF_EXECINSTR] = [2, 4];
const [STT_FUNC, STT_GNU_IFUNC] = [2, 10];

export interface Stretch {
  /** SVMA */
  address: number;
  offset: number;
  bytes: number;
}

export interface NewSections {
  text: Stretch;
  search: Stretch;
  frames: Stretch;
}

/** Section headers and their tables, for the end of a file. */
export interface SectionHeaders {
  bytes: Uint8Array;
  /** offset of the headers in the file */
  at: number;
  count: number;
}

/**
 * Makes section headers of a rewritten file, for debuggers and profilers: the old ones, one for the new code,
 * its call frame information in place of the old one, and a new symbol for each function's symbol. Returns
 * undefined for a file without section headers.
 * @param offset offset of the result in the file
 */
export function writeSectionHeaders(
  file: Uint8Array,
  object: ObjectFile,
  code: Code,
  text: NewText,
  { text: newText, search, frames }: NewSections,
  offset: number,
): SectionHeaders | undefined {
  const view = viewOf(file);
  const headersAt = Number(view.getBigUint64(E_SHOFF, true));
  const count = view.getUint16(E_SHNUM, true);
  const namesIndex = view.getUint16(E_SHSTRNDX, true);
  const isReadable =
    view.getUint16(E_SHENTSIZE, true) === HEADER_BYTES && headersAt + HEADER_BYTES * count <= file.length;
  if (count === 0 || namesIndex >= count || !isReadable || object.sections.length === 0) return undefined;
  const out = new ByteWriter(1 << 12);
  const headers = new Headers(file.subarray(headersAt, headersAt + HEADER_BYTES * count));
  const names = new Names(headers.contentOf(namesIndex, file));

  const old = headers.find((index) => names.at(headers.get32(index, SH_NAME)) === ".eh_frame");
  const header = headers.find((index) => names.at(headers.get32(index, SH_NAME)) === ".eh_frame_hdr");
  if (old >= 0) headers.set32(old, SH_NAME, names.add(".eh_frame.old"));
  if (header >= 0) headers.place(header, search);
  const textIndex = headers.add(names.add(".text.new"), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, newText);
  headers.add(names.add(".eh_frame"), SHT_PROGBITS, SHF_ALLOC, frames);

  const static_ = headers.find((index) => headers.get32(index, SH_TYPE) === SHT_SYMTAB);
  const from = static_ >= 0 ? static_ : headers.find((index) => headers.get32(index, SH_TYPE) === SHT_DYNSYM);
  if (from >= 0) {
    const locals = static_ >= 0 ? headers.get32(static_, SH_INFO) : 1;
    const symbols = headers.contentOf(from, file);
    const added = newSymbols(symbols, code, text, newText.address, textIndex);
    const symbolsEnd = static_ >= 0 ? symbols.length : SYMBOL_BYTES;
    out
      .range(symbols, 0, locals * SYMBOL_BYTES)
      .bytes(added)
      .range(symbols, locals * SYMBOL_BYTES, symbolsEnd);
    const place = { address: 0, offset, bytes: out.length };
    const table = static_ >= 0 ? static_ : headers.add(names.add(".symtab"), SHT_SYMTAB, 0, place);
    headers.place(table, place);
    headers.set32(table, SH_LINK, headers.get32(from, SH_LINK));
    headers.set32(table, SH_INFO, locals + added.length / SYMBOL_BYTES);
    headers.set64(table, SH_ENTSIZE, SYMBOL_BYTES);
    headers.set64(table, SH_ALIGN, 8);
  }
  headers.place(namesIndex, { address: 0, offset: offset + out.length, bytes: names.bytes.length });
  out.bytes(names.bytes);
  while (out.length % 8 !== 0) out.u8(0);
  const at = offset + out.length;
  out.bytes(headers.bytes);
  return { bytes: out.view(), at, count: headers.count };
}

/** Makes a local symbol at the new address for each symbol of a rewritten function. */
function newSymbols(
  symbols: Uint8Array,
  code: Code,
  text: NewText,
  textAddress: number,
  section: number,
): Uint8Array {
  const added = new Uint8Array(symbols.length);
  const out = new DataView(added.buffer);
  let end = 0;
  const view = viewOf(symbols);
  for (let at = 0; at + SYMBOL_BYTES <= symbols.length; at += SYMBOL_BYTES) {
    const info = view.getUint8(at + 4);
    const type = info & 15;
    if ((type !== STT_FUNC && type !== STT_GNU_IFUNC) || view.getUint16(at + 6, true) === 0) continue;
    const instruction = code.instructionAt(Number(view.getBigUint64(at + 8, true)) - code.base);
    if (instruction < 0) continue;
    const start = text.offsets[instruction];
    const f = code.functionAround(code.offsets[instruction]);
    out.setUint32(end, view.getUint32(at, true), true);
    out.setUint8(end + 4, STT_FUNC);
    out.setUint16(end + 6, section, true);
    out.setBigUint64(end + 8, BigInt(textAddress + start), true);
    out.setBigUint64(end + 16, BigInt(text.ends[f] - start), true);
    end += SYMBOL_BYTES;
  }
  return added.subarray(0, end);
}

class Names {
  bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  at(offset: number): string {
    const end = this.bytes.indexOf(0, offset);
    return String.fromCharCode(...this.bytes.subarray(offset, Math.max(offset, end)));
  }

  add(name: string): number {
    const { length } = this.bytes;
    const grown = new Uint8Array(length + name.length + 1);
    grown.set(this.bytes);
    for (let i = 0; i < name.length; i++) grown[length + i] = name.charCodeAt(i);
    this.bytes = grown;
    return length;
  }
}

class Headers {
  readonly #out = new ByteWriter(1 << 12);

  constructor(bytes: Uint8Array) {
    this.#out.bytes(bytes);
  }

  get bytes(): Uint8Array {
    return this.#out.view();
  }

  get count(): number {
    return this.#out.length / HEADER_BYTES;
  }

  find(matches: (index: number) => boolean): number {
    for (let index = 0; index < this.count; index++) if (matches(index)) return index;
    return -1;
  }

  add(name: number, type: number, flags: number, place: Stretch): number {
    const index = this.count;
    this.#out.bytes(new Uint8Array(HEADER_BYTES));
    this.set32(index, SH_NAME, name);
    this.set32(index, SH_TYPE, type);
    this.set64(index, SH_FLAGS, flags);
    this.set64(index, SH_ALIGN, 16);
    this.place(index, place);
    return index;
  }

  place(index: number, { address, offset, bytes }: Stretch): void {
    this.set64(index, SH_ADDR, address);
    this.set64(index, SH_OFFSET, offset);
    this.set64(index, SH_SIZE, bytes);
  }

  contentOf(index: number, file: Uint8Array): Uint8Array {
    const offset = this.#get64(index, SH_OFFSET);
    return file.subarray(offset, offset + this.#get64(index, SH_SIZE));
  }

  get32(index: number, field: number): number {
    return this.#view().getUint32(HEADER_BYTES * index + field, true);
  }

  set32(index: number, field: number, value: number): void {
    this.#view().setUint32(HEADER_BYTES * index + field, value, true);
  }

  set64(index: number, field: number, value: number): void {
    this.#view().setBigUint64(HEADER_BYTES * index + field, BigInt(value), true);
  }

  #get64(index: number, field: number): number {
    return Number(this.#view().getBigUint64(HEADER_BYTES * index + field, true));
  }

  #view(): DataView {
    const { buffer, byteOffset, length } = this.bytes;
    return new DataView(buffer, byteOffset, length);
  }
}
