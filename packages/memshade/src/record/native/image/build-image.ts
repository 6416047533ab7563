import { sha256 } from "@noble/hashes/sha2.js";
import type { NativeCode } from "../../../code/aot/index.ts";
import { writeFrameTable } from "../../../code/objects/elf/write/frame-table.ts";
import { type ObjectPlacement, writeSharedObject } from "../../../code/objects/elf/write/shared-object.ts";
import { openObject } from "../../../code/objects/index.ts";
import { FormatError, UserError } from "../../../ground/bytes/errors.ts";
import { NEXT_NAME_BYTES, TEXT_BYTES, Text, Tls } from "../layout.ts";
import type { ShadowRange } from "../native-tool.ts";
import { SampleText } from "../sampling/layout.ts";
import { type Hooked, NEXT, nextNames, symbolsOf } from "./functions.ts";

/** Where the image finds and leaves things, and how often it takes samples, as it is told when it is written. */
export interface ImageRun {
  /** What the number of a process is appended to: the file of its memory. */
  memory: string;
  /** What a build id is appended to: the file of an object's tables. */
  tables: string;
  /** Of the image itself. */
  image: string;
  /** Child processes are recorded, too. */
  children: boolean;
  /** It runs in programs whose code counts accesses. */
  isCounting: boolean;
  /** It runs in programs whose code follows which stores are read: not 0, and 2 as deadstores counts. */
  isWaste: 0 | 1 | 2;
  /** Address of the word by which inserted code calls; 0: it does not. */
  slowPath: number;
  /** Whose blocks are is noted for what inserted code marks. */
  isOwned: boolean;
  /** What it counts by is watched from outside. */
  isWatched: boolean;
  /** What inserted code uses, and others see. */
  shared: readonly ShadowRange[];
  /** CPU time of a thread from one sample to the next, ns; undefined: no samples are taken. */
  samplePeriod?: number | undefined;
}

const WORD_BYTES = 8;
const SONAME = "memshade";
/** One of its own for the word with the address of memory, which a child that was forked must find empty; and one to write into. */
const ZERO_PAGES = 2;
const PAGE_BYTES = 4096;
/** Tables of the largest objects are made in half of it. */
const TABLES_WAIT_MS = 1000;
const THREAD_BYTES = WORD_BYTES * Object.keys(Tls).length;

/** The shared object that records the allocations of the program that it is preloaded into, but for what is of one run. */
export function buildImage(native: NativeCode, hooked: Hooked): Uint8Array {
  assertZero(native);
  const data = dataOf(hooked);
  const imports = [...new Set(native.relocations.flatMap(({ kind, name }) => (kind === "c" ? [name] : [])))];
  const outer = imports.filter((name) => wordOf(name) < 0);
  return writeSharedObject({
    name: SONAME,
    needed: ["libc.so.6"],
    buildId: sha256(native.code).subarray(0, 20),
    code: native.code,
    exports: [...native.entries].flatMap(([name, offset]) =>
      symbolsOf(name, hooked).map((symbol) => ({ name: symbol, offset })),
    ),
    imports: outer,
    preset: [
      ...NEXT.flatMap(({ known }, i) =>
        known === undefined ? [] : [{ name: known, at: Text.next + WORD_BYTES * i }],
      ),
      { name: "__libc_single_threaded", at: Text.isSingleThreaded },
      { name: "exit", at: Text.exit },
      { name: "quick_exit", at: Text.quickExit },
    ],
    initialize: native.entries.get("initialize") as number,
    finalize: native.entries.get("finalize") as number,
    threadBytes: THREAD_BYTES,
    data,
    zeroPages: ZERO_PAGES,
    frames: (codeAt, at) =>
      writeFrameTable(
        native.functions.toSorted((a, b) => a.start - b.start),
        codeAt,
        at,
      ),
    link: (code, places) => {
      link(code, native, places, outer);
      tellOfFunctions(data, native, places);
    },
  });
}

/** Fresh memory is zero, and nobody writes anything else into it before the first hook. */
function assertZero({ globals, data }: NativeCode): void {
  if (data.length > 0 || globals.some(({ bytes }) => bytes.some((byte) => byte !== 0)))
    throw new FormatError("unsupported", 0, "native runtime", "its memory does not begin with zeros alone");
}

/** Which of the words of next definitions a function has; -1: none. */
function wordOf(name: string): number {
  return NEXT.findIndex((next) => next.name === name);
}

function dataOf(hooked: Hooked): Uint8Array {
  const data = new Uint8Array(TEXT_BYTES);
  const put = (text: string, at: number): void => data.set(new TextEncoder().encode(text), at);
  nextNames(hooked).forEach((name, i) => {
    put(name, Text.names + NEXT_NAME_BYTES * i);
  });
  put("/proc/self/exe", Text.program);
  put("/proc/self/cmdline", Text.command);
  put("/proc/self/maps", Text.maps);
  const view = new DataView(data.buffer);
  view.setUint32(Text.tablesWait, TABLES_WAIT_MS, true);
  view.setUint32(Text.isLookedAt, hooked.isLookedAt === true ? 1 : 0, true);
  return data;
}

/**
 * Writes what is of one run into an image.
 *
 * @throws UserError if a path is too long to be kept in it
 */
export function setRun(image: Uint8Array, run: ImageRun): void {
  const data = textsOf(image);
  const put = (text: string, at: number, most: number): void => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length >= most) throw new UserError(`the path ${text} is too long for what records programs`);
    data.set(bytes, at);
  };
  // Behind these two comes a number or a build id.
  put(run.memory, Text.memory, 1900);
  put(run.tables, Text.tables, 1900);
  put(run.image, Text.image, 2048);
  data[Text.children] = run.children ? 1 : 0;
  data[Text.isCounting] = run.isCounting ? 1 : 0;
  data[Text.isWaste] = run.isWaste;
  data[Text.isOwned] = run.isOwned ? 1 : 0;
  data[Text.isWatched] = run.isWatched ? 1 : 0;
  const view = new DataView(data.buffer, data.byteOffset);
  view.setBigUint64(Text.slowPath, BigInt(run.slowPath), true);
  view.setBigUint64(SampleText.period, BigInt(run.samplePeriod ?? 0), true);
  run.shared?.forEach(({ address, bytes }, i) => {
    view.setBigUint64(Text.shared + 16 * i, BigInt(address), true);
    view.setBigUint64(Text.shared + 16 * i + 8, BigInt(bytes), true);
  });
}

/** The code cannot ask for the addresses of its functions. */
function tellOfFunctions(data: Uint8Array, { entries }: NativeCode, places: ObjectPlacement): void {
  const tell = (name: string, at: number): void => {
    const distance = places.code + (entries.get(name) as number) - places.data;
    new DataView(data.buffer).setInt32(at, distance, true);
  };
  tell("sample_handler", SampleText.handler);
  tell("begin_thread", SampleText.beginThread);
  tell("sample_block", Text.sampleBlock);
  tell("at_exit", Text.atExit);
  tell("end_program", Text.endProgram);
  tell("exit_program", Text.exitProgram);
}

/** What can be written of an image is loaded last, and the texts are the end of that. */
function textsOf(image: Uint8Array): Uint8Array {
  const { segments } = openObject(image);
  const { fileOffset, fileSize } = segments.at(-1)!;
  return image.subarray(fileOffset + fileSize - TEXT_BYTES, fileOffset + fileSize);
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
          : places.data + Text.next + WORD_BYTES * wordOf(name),
    }[kind]();
    view.setInt32(offset, target - (places.code + offset) + addend, true);
  }
}
