import { PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { ET_DYN, PT_LOAD, PT_NOTE } from "../constants.ts";
import {
  headersEnd,
  type ImageSegment,
  PF_R,
  PF_W,
  PF_X,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHT_DYNAMIC,
  SHT_DYNSYM,
  SHT_STRTAB,
  writeElfImage,
} from "./image.ts";

export interface ExportedFunction {
  name: string;
  offset: number;
}

export interface SharedObject {
  /** DT_SONAME */
  name: string;
  needed: readonly string[];
  buildId: Uint8Array;
  /** Machine code; `link` writes the addresses of everything else into it. */
  code: Uint8Array;
  exports: readonly ExportedFunction[];
  /** Names of functions of other objects. Each has a word with its address, or 0 if no object defines it. */
  imports: readonly string[];
  /** Further imported functions, whose words are in the data. */
  preset: readonly { name: string; at: number }[];
  /**
   * Code offset of the function that runs after loading, before constructors of other objects. Its arguments are
   * argc, argv and envp.
   */
  initialize: number;
  /** Code offset of the function that runs when the program exits, after the program's own exit functions. */
  finalize: number;
  /** Bytes of thread-local storage, initially zero. */
  threadBytes: number;
  /** Writable data, followed by whole pages of zeros. */
  data: Uint8Array;
  zeroPages: number;
  frames: (codeAt: number, at: number) => Uint8Array;
  link: (code: Uint8Array, places: ObjectPlacement) => void;
}

export interface ObjectPlacement {
  code: number;
  /** Word with the address of the first import. */
  imports: number;
  /** Word with the offset of the thread-local storage from the thread pointer. */
  thread: number;
  data: number;
  zeroPages: number;
}

const [PT_DYNAMIC, PT_TLS, PT_GNU_EH_FRAME, PT_GNU_STACK] = [2, 7, 0x6474e550, 0x6474e551];
const [DT_NULL, DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT] = [
  0, 1, 4, 5, 6, 7, 8, 9,
];
const [DT_STRSZ, DT_SYMENT, DT_INIT, DT_FINI, DT_SONAME, DT_FLAGS, DT_FLAGS_1] = [
  10, 11, 12, 13, 14, 30, 0x6ffffffb,
];
/** DF_BIND_NOW, DF_STATIC_TLS; DF_1_NOW, DF_1_NODELETE, DF_1_INITFIRST. */
const [FLAGS, FLAGS_1] = [0x18, 0x29];
const [R_X86_64_GLOB_DAT, R_X86_64_TPOFF64] = [6, 18];
const [GLOBAL_FUNCTION, WEAK_FUNCTION] = [0x12, 0x22];
const [SYMBOL_BYTES, RELOCATION_BYTES, WORD_BYTES] = [24, 24, 8];
const SEGMENTS = 8;

/**
 * Writes a shared object of x86-64 for ld.so. It has position-independent code, functions that interpose others of
 * the same name, and words with addresses of other objects' functions. Symbols have no versions; the sections only
 * serve debuggers.
 */
export function writeSharedObject(object: SharedObject): Uint8Array {
  const { code, exports, data, zeroPages, threadBytes } = object;
  const imports = [...object.imports, ...object.preset.map(({ name }) => name)];
  const strings = new Strings();
  const names = [...imports, ...exports.map(({ name }) => name)];
  const nameOffsets = names.map((name) => strings.add(name));
  const [soname, ...needed] = [object.name, ...object.needed].map((name) => strings.add(name));

  const note = buildIdNote(object.buildId);
  const sizes = [note.length, (names.length + 1) * SYMBOL_BYTES, 4 * (names.length + 4), strings.length];
  const relocations = imports.length + 1;
  const at: number[] = [];
  let end = headersEnd(SEGMENTS);
  for (const size of [...sizes, relocations * RELOCATION_BYTES]) {
    at.push(end);
    end = align(end + size, WORD_BYTES);
  }
  const [noteAt, symbolsAt, hashAt, stringsAt, relocationsAt] = at;
  const framesAt = end;
  // The size of the frames does not depend on their address.
  const codeAt = align(end + object.frames(0, 0).length, PAGE_BYTES);
  const dynamicAt = align(codeAt + code.length, PAGE_BYTES);
  const dynamicEntries = 14 + needed.length;
  const importsAt = dynamicAt + 2 * WORD_BYTES * dynamicEntries;
  const threadAt = importsAt + WORD_BYTES * object.imports.length;
  const dataAt = align(threadAt + WORD_BYTES, 16);
  const zerosAt = align(dataAt + data.length, PAGE_BYTES);

  const places = { code: codeAt, imports: importsAt, thread: threadAt, data: dataAt, zeroPages: zerosAt };
  const linked = code.slice();
  object.link(linked, places);
  const frames = object.frames(codeAt, framesAt);

  const read = new Uint8Array(framesAt + frames.length - noteAt);
  read.set(note, noteAt - noteAt);
  read.set(strings.bytes(), stringsAt - noteAt);
  read.set(frames, framesAt - noteAt);
  const view = new DataView(read.buffer);
  names.forEach((_, i) => {
    const symbol = symbolsAt - noteAt + SYMBOL_BYTES * (i + 1);
    const exported = exports[i - imports.length];
    view.setUint32(symbol, nameOffsets[i], true);
    view.setUint8(symbol + 4, exported === undefined ? WEAK_FUNCTION : GLOBAL_FUNCTION);
    view.setUint16(symbol + 6, exported === undefined ? 0 : 1, true);
    if (exported !== undefined) view.setBigUint64(symbol + 8, BigInt(codeAt + exported.offset), true);
  });
  hashTable(names.length).forEach((word, i) => {
    view.setUint32(hashAt - noteAt + 4 * i, word, true);
  });
  for (let i = 0; i < relocations; i++) {
    const relocation = relocationsAt - noteAt + RELOCATION_BYTES * i;
    const isImport = i < imports.length;
    const preset = object.preset[i - object.imports.length];
    const word = preset === undefined ? importsAt + WORD_BYTES * i : dataAt + preset.at;
    view.setBigUint64(relocation, BigInt(isImport ? word : threadAt), true);
    view.setUint32(relocation + 8, isImport ? R_X86_64_GLOB_DAT : R_X86_64_TPOFF64, true);
    view.setUint32(relocation + 12, isImport ? i + 1 : 0, true);
  }

  const written = new Uint8Array(dataAt + data.length - dynamicAt);
  written.set(data, dataAt - dynamicAt);
  const dynamic = new DataView(written.buffer);
  const entries: [number, number][] = [
    ...needed.map((name): [number, number] => [DT_NEEDED, name]),
    [DT_SONAME, soname],
    [DT_HASH, hashAt],
    [DT_STRTAB, stringsAt],
    [DT_SYMTAB, symbolsAt],
    [DT_STRSZ, strings.length],
    [DT_SYMENT, SYMBOL_BYTES],
    [DT_RELA, relocationsAt],
    [DT_RELASZ, relocations * RELOCATION_BYTES],
    [DT_RELAENT, RELOCATION_BYTES],
    [DT_INIT, codeAt + object.initialize],
    [DT_FINI, codeAt + object.finalize],
    [DT_FLAGS, FLAGS],
    [DT_FLAGS_1, FLAGS_1],
    [DT_NULL, 0],
  ];
  entries.forEach(([tag, value], i) => {
    dynamic.setBigUint64(16 * i, BigInt(tag), true);
    dynamic.setBigUint64(16 * i + 8, BigInt(value), true);
  });

  const inside = (type: number, flags: number, address: number, length: number): ImageSegment => ({
    type,
    flags,
    address,
    bytes: new Uint8Array(length),
  });
  const headerBytes = firstFrame(frames);
  return writeElfImage({
    type: ET_DYN,
    entry: 0,
    sections: [
      // Symbols of functions refer to this section, the first one.
      { name: ".text", flags: SHF_ALLOC | SHF_EXECINSTR, address: codeAt, length: code.length },
      {
        name: ".dynsym",
        type: SHT_DYNSYM,
        flags: SHF_ALLOC,
        address: symbolsAt,
        length: sizes[1],
        link: ".dynstr",
        entryBytes: SYMBOL_BYTES,
      },
      { name: ".dynstr", type: SHT_STRTAB, flags: SHF_ALLOC, address: stringsAt, length: strings.length },
      {
        name: ".dynamic",
        type: SHT_DYNAMIC,
        flags: SHF_ALLOC | SHF_WRITE,
        address: dynamicAt,
        length: 16 * dynamicEntries,
        link: ".dynstr",
        entryBytes: 16,
      },
      { name: ".eh_frame_hdr", flags: SHF_ALLOC, address: framesAt, length: headerBytes },
      {
        name: ".eh_frame",
        flags: SHF_ALLOC,
        address: framesAt + headerBytes,
        length: frames.length - headerBytes,
      },
    ],
    segments: [
      { type: PT_LOAD, flags: PF_R, address: noteAt, bytes: read },
      { type: PT_LOAD, flags: PF_R | PF_X, address: codeAt, bytes: linked },
      {
        type: PT_LOAD,
        flags: PF_R | PF_W,
        address: dynamicAt,
        bytes: written,
        memoryBytes: zerosAt + zeroPages * PAGE_BYTES - dynamicAt,
      },
      inside(PT_DYNAMIC, PF_R | PF_W, dynamicAt, 16 * dynamicEntries),
      inside(PT_NOTE, PF_R, noteAt, note.length),
      inside(PT_GNU_EH_FRAME, PF_R, framesAt, frames.length),
      { ...inside(PT_TLS, PF_R, 0, 0), memoryBytes: threadBytes },
      inside(PT_GNU_STACK, PF_R | PF_W, 0, 0),
    ],
  });
}

/** Returns the start of the entries; the header's second word has the distance to them. */
function firstFrame(frames: Uint8Array): number {
  return new DataView(frames.buffer, frames.byteOffset).getInt32(4, true) + 4;
}

function align(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

/** Returns a hash table with one bucket: a chain through all symbols. */
function hashTable(names: number): number[] {
  const chain = Array.from({ length: names + 1 }, (_, i) => (i < names && i > 0 ? i + 1 : 0));
  return [1, names + 1, names > 0 ? 1 : 0, ...chain];
}

function buildIdNote(buildId: Uint8Array): Uint8Array {
  const [GNU, NT_GNU_BUILD_ID] = [[0x47, 0x4e, 0x55, 0], 3];
  const note = new Uint8Array(16 + align(buildId.length, 4));
  const view = new DataView(note.buffer);
  [GNU.length, buildId.length, NT_GNU_BUILD_ID].forEach((word, i) => {
    view.setUint32(4 * i, word, true);
  });
  note.set(GNU, 12);
  note.set(buildId, 16);
  return note;
}

/** String table: each name is followed by a zero, and the first name is empty. */
class Strings {
  readonly #offsets = new Map<string, number>();
  length = 1;

  add(name: string): number {
    const knownOffset = this.#offsets.get(name);
    if (knownOffset !== undefined) return knownOffset;
    const offset = this.length;
    this.#offsets.set(name, offset);
    this.length += new TextEncoder().encode(name).length + 1;
    return offset;
  }

  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.length);
    for (const [name, offset] of this.#offsets) bytes.set(new TextEncoder().encode(name), offset);
    return bytes;
  }
}
