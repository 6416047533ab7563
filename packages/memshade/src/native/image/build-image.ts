import { sha256 } from "@noble/hashes/sha2.js";
import type { NativeCode } from "../../aot/index.ts";
import { FormatError, UserError } from "../../bytes/errors.ts";
import { PT_LOAD } from "../../objects/elf/constants.ts";
import { writeFrameTable } from "../../objects/elf/write/frame-table.ts";
import { PROGRAM_HEADER_BYTES } from "../../objects/elf/write/image.ts";
import { type ObjectPlacement, writeSharedObject } from "../../objects/elf/write/shared-object.ts";
import { NEXT_NAME_BYTES, TEXT_BYTES, Text, Tls } from "../layout.ts";

/** Where the image finds and leaves things, as it is told when it is written. */
export interface ImagePaths {
  /** What the number of a process is appended to: the file of its memory. */
  memory: string;
  /** What a build id is appended to: the file of an object's tables. */
  tables: string;
  /** Of the image itself. */
  image: string;
}

/** The next definitions of these are called, behind the image's own; and the names that the GNU C library alone has for them. */
const NEXT: Readonly<Record<string, string | undefined>> = {
  malloc: "__libc_malloc",
  calloc: "__libc_calloc",
  realloc: "__libc_realloc",
  free: "__libc_free",
  memalign: "__libc_memalign",
  valloc: "__libc_valloc",
  pvalloc: "__libc_pvalloc",
  reallocarray: undefined,
  aligned_alloc: undefined,
  posix_memalign: undefined,
  malloc_usable_size: undefined,
  dlclose: undefined,
};
const NEXT_NAMES = Object.keys(NEXT);
/** Functions of the code that are none of the program's names. */
const INTERNAL = ["memory_open", "initialize"];
const WORD_BYTES = 8;
const SONAME = "memshade";
/** One of its own for the word with the address of memory, which a child that was forked must find empty; and one to write into. */
const ZERO_PAGES = 2;
const PAGE_BYTES = 4096;
/** Tables of the largest objects are made in half of it. */
const TABLES_WAIT_MS = 1000;
/** In an ELF header, where its program headers are; in one of those, the offset and the size in the file. */
const HEADERS_AT = 32;
const [OFFSET, FILE_BYTES] = [8, 32];
const THREAD_BYTES = WORD_BYTES * Object.keys(Tls).length;

/** The shared object that records the allocations of the program that it is preloaded into, but for its paths. */
export function buildImage(native: NativeCode): Uint8Array {
  assertZero(native);
  const data = dataOf();
  const imports = [...new Set(native.relocations.flatMap(({ kind, name }) => (kind === "c" ? [name] : [])))];
  const outer = imports.filter((name) => !NEXT_NAMES.includes(name));
  return writeSharedObject({
    name: SONAME,
    needed: ["libc.so.6"],
    buildId: sha256(native.code).subarray(0, 20),
    code: native.code,
    exports: [...native.entries]
      .filter(([name]) => !INTERNAL.includes(name))
      .map(([name, offset]) => ({ name, offset })),
    imports: outer,
    preset: [
      ...Object.entries(NEXT).flatMap(([name, known]) =>
        known === undefined ? [] : [{ name: known, at: Text.next + WORD_BYTES * NEXT_NAMES.indexOf(name) }],
      ),
      { name: "__libc_single_threaded", at: Text.isSingleThreaded },
    ],
    initialize: native.entries.get("initialize") as number,
    threadBytes: THREAD_BYTES,
    data,
    zeroPages: ZERO_PAGES,
    frames: (codeAt, at) =>
      writeFrameTable(
        native.functions.toSorted((a, b) => a.start - b.start),
        codeAt,
        at,
      ),
    link: (code, places) => link(code, native, places, outer),
  });
}

/** Fresh memory is zero, and nobody writes anything else into it before the first hook. */
function assertZero({ globals, data }: NativeCode): void {
  if (data.length > 0 || globals.some(({ bytes }) => bytes.some((byte) => byte !== 0)))
    throw new FormatError("unsupported", 0, "native runtime", "its memory does not begin with zeros alone");
}

function dataOf(): Uint8Array {
  const data = new Uint8Array(TEXT_BYTES);
  NEXT_NAMES.forEach((name, i) => {
    data.set(new TextEncoder().encode(name), Text.names + NEXT_NAME_BYTES * i);
  });
  new DataView(data.buffer).setUint32(Text.tablesWait, TABLES_WAIT_MS, true);
  return data;
}

/**
 * Writes the paths of a run into an image.
 *
 * @throws UserError if a path is too long to be kept in it
 */
export function setPaths(image: Uint8Array, paths: ImagePaths): void {
  const data = image.subarray(textAt(image));
  const put = (text: string, at: number, most: number): void => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length >= most) throw new UserError(`the path ${text} is too long for what records programs`);
    data.set(bytes, at);
  };
  // Behind these two comes a number or a build id.
  put(paths.memory, Text.memory, 1900);
  put(paths.tables, Text.tables, 1900);
  put(paths.image, Text.image, 2048);
}

/** Where the texts are in the file: at the end of the last part that is loaded, which is what can be written. */
function textAt(image: Uint8Array): number {
  const view = new DataView(image.buffer, image.byteOffset, image.length);
  const first = Number(view.getBigUint64(HEADERS_AT, true));
  let last = first;
  for (let at = first; view.getUint32(at, true) === PT_LOAD; at += PROGRAM_HEADER_BYTES) last = at;
  return (
    Number(view.getBigUint64(last + OFFSET, true) + view.getBigUint64(last + FILE_BYTES, true)) - TEXT_BYTES
  );
}

function link(code: Uint8Array, native: NativeCode, places: ObjectPlacement, outer: readonly string[]): void {
  const view = new DataView(code.buffer, code.byteOffset, code.length);
  for (const { kind, name, offset, addend } of native.relocations) {
    const target = {
      thread: () => places.thread,
      memory: () => places.zeroPages,
      scratch: () => places.zeroPages + PAGE_BYTES,
      text: () => places.data,
      c: () =>
        outer.includes(name)
          ? places.imports + WORD_BYTES * outer.indexOf(name)
          : places.data + Text.next + WORD_BYTES * NEXT_NAMES.indexOf(name),
    }[kind]();
    view.setInt32(offset, target - (places.code + offset) + addend, true);
  }
}
