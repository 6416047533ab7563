import { spawn } from "node:child_process";
import { readdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sha256 } from "@noble/hashes/sha2.js";
import { compile, type NativeCode } from "../../../code/aot/index.ts";
import { writeFrameTable } from "../../../code/objects/elf/write/frame-table.ts";
import { type ObjectPlacement, writeSharedObject } from "../../../code/objects/elf/write/shared-object.ts";
import { openObject } from "../../../code/objects/index.ts";
import { bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import { FormatError, UserError } from "../../../ground/bytes/errors.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { cacheFolder } from "../../host/run/cache-folder.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isSafelyPlaced } from "../../host/run/own-files.ts";
import { makeOwnedFolder, removeLeftFolders } from "../../host/run/owned-folders.ts";
import { NEXT_NAME_BYTES, TEXT_BYTES, Text, Tls } from "../layout.ts";
import { type NativeTool, type ShadowRange, SLOW_PATHS } from "../native-tool.ts";
import { NATIVE_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { NATIVE_WALL_RUNTIME_BASE64 } from "../runtime-wall.generated.ts";
import { SampleText } from "../sampling/layout.ts";
import { cachedFile, TableCache } from "../tables/tables-file.ts";
import { canHoldCode, KIND } from "./can-hold-code.ts";
import { type Hooked, NEXT, nextNames, symbolsOf, WITHOUT_MEMORY } from "./functions.ts";

/** Options that the content of an image depends on. */
export interface KeptImage extends Hooked {
  /** Unit of lifetimes: allocations so far, or milliseconds. */
  clock: "virtual" | "wall";
}

const DIGEST_BYTES = 8;

/**
 * Returns the image without the data of a run, from the cache if possible. Compiling it takes as long as
 * everything else before the program starts.
 */
export function cachedImage(folder: string, options: KeptImage): Uint8Array {
  const runtime = options.clock === "wall" ? NATIVE_WALL_RUNTIME_BASE64 : NATIVE_RUNTIME_BASE64;
  return cachedFile(folder, `image-${digestOf(options)}`, () =>
    buildImage(compile(bytesOfBase64(runtime), { withoutMemory: WITHOUT_MEMORY }), options),
  );
}

/**
 * Returns a digest of everything by which images differ: the clock, and the names that are looked up and
 * exported.
 */
function digestOf({ clock, ...hooked }: KeptImage): string {
  const symbols = NEXT.map(({ name }) => symbolsOf(name, hooked));
  const text = JSON.stringify([clock, nextNames(hooked), symbols, hooked.isLookedAt === true]);
  return Buffer.from(sha256(new TextEncoder().encode(text)).subarray(0, DIGEST_BYTES)).toString("hex");
}

/**
 * Waits for the end of its input. It has a session of its own, so no terminal and no signal to a group
 * reaches it.
 */
const SCRIPT = 'trap "" HUP INT TERM QUIT; read -r nothing; rm -rf -- "$1"';

/**
 * Has a shell remove a folder when this process is gone, even if it was killed. Mappings of the folder's
 * files remain.
 * @returns a function for when this process has removed the folder itself
 */
export function removeWhenGone(folder: string): () => void {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "memshade", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: { PATH: process.env.PATH },
  });
  // The next run removes the folder if there is no shell.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  return () => {
    shell.stdin.end();
  };
}

/** Folder for shared memory that is never written to a disk. */
const SHARED_MEMORY = "/dev/shm";
/** If there is less room, the folder for temporary files is used. */
const LEAST_SHARED_BYTES = 2 ** 30;
/** Least free bytes: with less, the next page may be missing. */
const FULL_BYTES = 2 ** 20;

/** Prefix of a memory file; the process id follows. */
const MEMORY = "heap.";
const MEMORY_NAME = /^heap\.(\d+)(?:\.\d+)?$/;

export interface ImageOptions extends KeptImage {
  children: boolean;
  /** Nanoseconds of a thread's CPU time between two samples; undefined: no samples. */
  samplePeriod?: number | undefined;
  tool?:
    | Pick<NativeTool, "shadows" | "slowPaths" | "isWatched" | "isCounting" | "isOwned" | "isWaste">
    | undefined;
}

/** Files and folders that exist during a run. */
export interface PlacedImage {
  path: string;
  /** Folder of the shared object, which may contain code. */
  folder: string;
  tables: TableCache;
  memoryOf: (pid: number) => string;
  /** Returns the folder of the memory files if it is full. */
  fullFolder: () => string | undefined;
  freeBytes: () => number;
  /** Returns the bytes that all files in this folder take. */
  takenBytes: () => number;
  /** Returns the memory files, unsorted. A process has one more for each program that it executes. */
  memories: () => { path: string; pid: number }[];
  /**
   * Removes all files. With `isUsed`, the image stays until the next run, because programs may still be
   * started with it.
   */
  remove: (isUsed?: boolean) => void;
}

/**
 * Writes the image for one run.
 * @throws UserError if nothing can be written, or if the dynamic linker could not find the image
 */
export function placeImage({ children, samplePeriod, tool, ...options }: ImageOptions): PlacedImage {
  const folders: string[] = [];
  let stopWaiting: (() => void) | undefined;
  const remove = (isUsed = false): void => {
    for (const folder of isUsed ? folders.slice(1) : folders)
      rmSync(folder, { recursive: true, force: true });
    stopWaiting?.();
  };
  try {
    for (const parent of [...imageParents(), SHARED_MEMORY]) removeLeftFolders(parent, KIND);
    const place = makeOwnedFolder(findImageParent(), KIND);
    folders.push(place);
    if (hasRoom(SHARED_MEMORY) || !holdsFileOf(place, sharedBytes(tool))) {
      folders.push(makeOwnedFolder(SHARED_MEMORY, KIND));
      stopWaiting = removeWhenGone(folders[1]);
    }
    const memories = folders.at(-1)!;
    const memory = join(memories, MEMORY);
    const path = join(place, "memshade.so");
    const tables = new TableCache(place);
    const image = cachedImage(tables.folder, options);
    setRun(image, {
      memory,
      tables: tables.prefix,
      image: path,
      children,
      samplePeriod,
      isCounting: tool?.isCounting === true,
      isWaste: tool?.isWaste ?? 0,
      slowPath: (tool?.slowPaths ?? 0) > 0 ? SLOW_PATHS : 0,
      shared: tool?.shadows ?? [],
      isWatched: tool?.isWatched === true,
      isOwned: tool?.isOwned === true,
    });
    writeFileSync(path, image);
    return {
      path,
      folder: place,
      tables,
      remove,
      memoryOf: (pid) => `${memory}${pid}`,
      fullFolder: () => (freeBytes(memories) < FULL_BYTES ? dirname(memories) : undefined),
      freeBytes: () => freeBytes(memories),
      takenBytes: () => takenBytesIn(memories),
      memories: () => memoriesIn(memories),
    };
  } catch (error) {
    remove();
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new UserError(`nothing can be written to ${tmpdir()}: ${describeSystemError(error)}`);
  }
}

/**
 * Returns folders for the image: for temporary files, the cache's, and the system's, in case code must not be
 * in the first ones or they belong to another user.
 */
function imageParents(): string[] {
  return [...new Set([tmpdir(), cacheFolder(), "/tmp"])];
}

function findImageParent(): string {
  const [usual, ...otherFolders] = imageParents();
  if (canLoadFrom(usual)) return usual;
  for (const other of otherFolders)
    if (isSafelyPlaced(other)) {
      makeFolders(other, 0o700);
      if (canLoadFrom(other)) return other;
    }
  throw new UserError(
    `${usual} cannot hold the recording library: it is mounted noexec, its path has a space or a colon, or other users can write to it; set TMPDIR to another folder`,
  );
}

/**
 * Returns true if the dynamic linker accepts the path, the system maps code there, and no other user can
 * replace files.
 */
function canLoadFrom(folder: string): boolean {
  return !/[\s:]/.test(folder) && isSafelyPlaced(folder) && canHoldCode(folder);
}

function memoriesIn(folder: string): { path: string; pid: number }[] {
  return readdirSync(folder).flatMap((name) => {
    const [, pid] = MEMORY_NAME.exec(name) ?? [];
    return pid === undefined ? [] : [{ path: join(folder, name), pid: Number(pid) }];
  });
}

const BLOCK_BYTES = 512;

function takenBytesIn(folder: string): number {
  const blocks = readdirSync(folder).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.blocks,
  );
  return blocks.reduce<number>((sum, count = 0) => sum + count * BLOCK_BYTES, 0);
}

/** Returns the size of the file that shares the ranges of inserted code. Nearly all of it stays empty. */
function sharedBytes(tool: ImageOptions["tool"]): number {
  return tool?.shadows.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
}

/**
 * Returns true if the file system allows a file of this size. File systems on disks allow less than the
 * address space.
 */
function holdsFileOf(folder: string, bytes: number): boolean {
  const path = join(folder, "size");
  writeFileSync(path, "");
  try {
    truncateSync(path, bytes);
    return true;
  } catch {
    return freeBytes(SHARED_MEMORY) === 0;
  } finally {
    rmSync(path);
  }
}

function hasRoom(folder: string): boolean {
  return freeBytes(folder) >= LEAST_SHARED_BYTES;
}

/** Returns 0 if the folder does not exist. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** Data of a run that are written into the image. */
interface ImageRun {
  /** Prefix of the path of memory files; the process id follows. */
  memory: string;
  /** Prefix of the path of table files; the key follows. */
  tables: string;
  image: string;
  children: boolean;
  isCounting: boolean;
  isWaste: 0 | 1 | 2;
  slowPath: number;
  isOwned: boolean;
  isWatched: boolean;
  shared: readonly ShadowRange[];
  samplePeriod?: number | undefined;
}

const WORD_BYTES = 8;
const SONAME = "memshade";
/** Pages: one for the word with the memory's address, which is empty in a forked child, and one scratch page. */
const ZERO_PAGES = 2;
/** Tables of the largest objects are made in half of this time. */
const TABLES_WAIT_MS = 1000;
const THREAD_BYTES = WORD_BYTES * Object.keys(Tls).length;

/** Builds the shared object that is preloaded, without the data of a run. */
function buildImage(native: NativeCode, hooked: Hooked): Uint8Array {
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
      ...NEXT.flatMap(({ libcName: known }, i) =>
        known === undefined ? [] : [{ name: known, at: Text.next + WORD_BYTES * i }],
      ),
      { name: "__libc_single_threaded", at: Text.isSingleThreaded },
      { name: "exit", at: Text.exit },
      { name: "quick_exit", at: Text.quickExit },
      { name: "environ", at: Text.environ },
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
      storeFunctionDistances(data, native, places);
    },
  });
}

/** Checks that the runtime's memory is zero at the start, as fresh memory is. */
function assertZero({ globals, data }: NativeCode): void {
  if (data.length > 0 || globals.some(({ bytes }) => bytes.some((byte) => byte !== 0)))
    throw new FormatError("unsupported", 0, "native runtime", "its memory does not begin with zeros alone");
}

/** Returns the index of a function among the next definitions, or -1. */
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
 * Writes the data of a run into an image.
 * @throws UserError if a path is too long
 */
function setRun(image: Uint8Array, run: ImageRun): void {
  const data = textsOf(image);
  const put = (text: string, at: number, most: number): void => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length >= most) throw new UserError(`the path ${text} is too long for the recording`);
    data.set(bytes, at);
  };
  // A number or a key follows these two.
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

/** Stores the distances of functions, because the code cannot compute addresses of its functions. */
function storeFunctionDistances(data: Uint8Array, { entries }: NativeCode, places: ObjectPlacement): void {
  const storeDistance = (name: string, at: number): void => {
    const distance = places.code + (entries.get(name) as number) - places.data;
    new DataView(data.buffer).setInt32(at, distance, true);
  };
  storeDistance("sample_handler", SampleText.handler);
  storeDistance("begin_thread", SampleText.beginThread);
  storeDistance("sample_block", Text.sampleBlock);
  storeDistance("at_exit", Text.atExit);
  storeDistance("end_program", Text.endProgram);
  storeDistance("exit_program", Text.exitProgram);
}

/** Returns the texts: they end the last segment, which is the writable one. */
function textsOf(image: Uint8Array): Uint8Array {
  const { segments } = openObject(image);
  const { fileOffset, fileSize } = segments.at(-1)!;
  return image.subarray(fileOffset + fileSize - TEXT_BYTES, fileOffset + fileSize);
}

function link(code: Uint8Array, native: NativeCode, places: ObjectPlacement, outer: readonly string[]): void {
  const view = viewOf(code);
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
