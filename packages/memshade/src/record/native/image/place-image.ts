import { spawn } from "node:child_process";
import { readdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sha256 } from "@noble/hashes/sha2.js";
import { compile } from "../../../code/aot/index.ts";
import { bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { cacheFolder } from "../../host/run/cache-folder.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isSafelyPlaced } from "../../host/run/own-files.ts";
import { makeOwnedFolder, removeLeftFolders } from "../../host/run/owned-folders.ts";
import { type NativeTool, SLOW_PATHS } from "../native-tool.ts";
import { NATIVE_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { NATIVE_WALL_RUNTIME_BASE64 } from "../runtime-wall.generated.ts";
import { kept } from "../tables/kept.ts";
import { TableCache } from "../tables/table-cache.ts";
import { buildImage, setRun } from "./build-image.ts";
import { canHoldCode, KIND } from "./can-hold-code.ts";
import { type Hooked, NEXT, nextNames, symbolsOf, WITHOUT_MEMORY } from "./functions.ts";

/** What an image is made for. */
export interface KeptImage extends Hooked {
  /** Unit of lifetimes: allocations made so far, or milliseconds. */
  clock: "virtual" | "wall";
}

const DIGEST_BYTES = 8;

/** The image without what is of one run. Compiling takes as long as all else before the program starts, so it is kept. */
export function keptImage(folder: string, options: KeptImage): Uint8Array {
  const runtime = options.clock === "wall" ? NATIVE_WALL_RUNTIME_BASE64 : NATIVE_RUNTIME_BASE64;
  return kept(folder, `image-${digestOf(options)}`, () =>
    buildImage(compile(bytesOfBase64(runtime), { withoutMemory: WITHOUT_MEMORY }), options),
  );
}

/** Of all that one image differs from another by: the clock, what is looked for, and the names of what is there. */
function digestOf({ clock, ...hooked }: KeptImage): string {
  const symbols = NEXT.map(({ name }) => symbolsOf(name, hooked));
  const text = JSON.stringify([clock, nextNames(hooked), symbols, hooked.isLookedAt === true]);
  return Buffer.from(sha256(new TextEncoder().encode(text)).subarray(0, DIGEST_BYTES)).toString("hex");
}

/** Waits for the end of its input, whatever ends that, in a session of its own: no terminal and no signal to a group reaches it. */
const SCRIPT = 'trap "" HUP INT TERM QUIT; read -r nothing; rm -rf -- "$1"';

/**
 * Has a folder removed when this process is gone, even if it was killed: a shell waits for that. What programs have mapped of the folder's files
 * stays theirs to their end.
 *
 * @returns ends that: this process has removed the folder itself
 */
export function removeWhenGone(folder: string): () => void {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "memshade", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: { PATH: process.env.PATH },
  });
  // Without a shell, the next run removes it.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  return () => {
    shell.stdin.end();
  };
}

/** Where memory that processes share is never written to a disk. */
const SHARED_MEMORY = "/dev/shm";
/** With less room there, tables might not fit: then the folder for temporary files has them. */
const LEAST_SHARED_BYTES = 2 ** 30;
/** Memory comes in pages: with less left, the next one may be missing. */
const FULL_BYTES = 2 ** 20;

/** What the number of a process is appended to. */
const MEMORY = "heap.";
const MEMORY_NAME = /^heap\.(\d+)(?:\.\d+)?$/;

/** How a program is recorded. */
export interface ImageOptions extends KeptImage {
  /** Child processes are recorded, too. */
  children: boolean;
  /** CPU time of a thread from one sample to the next, ns; undefined: no samples are taken. */
  samplePeriod?: number | undefined;
  /** Whose code is inserted. */
  tool?:
    | Pick<NativeTool, "shadows" | "slowPaths" | "isWatched" | "isCounting" | "isOwned" | "isWaste">
    | undefined;
}

/** What is on the file system for the time of a run. */
export interface PlacedImage {
  /** Of the shared object. */
  path: string;
  /** Where it lies, and code may. */
  folder: string;
  tables: TableCache;
  /** The file that a process shares its memory by. */
  memoryOf: (pid: number) => string;
  /** Path of the folder with these files, if there is no room left in it. */
  fullFolder: () => string | undefined;
  /** What is free in the folder with these files, bytes. */
  freeBytes: () => number;
  /** What all files of the folder with these take of memory, or of the disk. */
  takenBytes: () => number;
  /** Those that there are, in no order. A process has one more for each program that it replaces itself by. */
  memories: () => { path: string; pid: number }[];
  /** `isUsed`: programs may be started with it still. It stays until the next run then. */
  remove: (isUsed?: boolean) => void;
}

/**
 * Writes the image for one run.
 *
 * @throws UserError in one line where nothing can be written, or the dynamic linker could not be told of it
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
    const image = keptImage(tables.folder, options);
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

/** The folder for temporary files, or where no code may lie there, that of the cache; the system's where both are another user's. */
function imageParents(): string[] {
  return [...new Set([tmpdir(), cacheFolder(), "/tmp"])];
}

function findImageParent(): string {
  const [usual, ...others] = imageParents();
  if (canLoadFrom(usual)) return usual;
  for (const other of others)
    if (isSafelyPlaced(other)) {
      makeFolders(other, 0o700);
      if (canLoadFrom(other)) return other;
    }
  throw new UserError(
    `${usual}: no code can be loaded from there (noexec), the dynamic linker takes no such path (a space or a colon), or others can put their own in its place; set TMPDIR to another folder`,
  );
}

/** Whether the dynamic linker can be told of an object there, the system maps it as code, and nobody else can exchange it. */
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

/** Bytes of the file by which a process shares what inserted code counts, nearly all of which stay empty. */
function sharedBytes(tool: ImageOptions["tool"]): number {
  return tool?.shadows.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
}

/** Whether a file system lets a file have so many bytes; those of disks have less than the whole address space. */
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

/** 0 where there is no such folder. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
