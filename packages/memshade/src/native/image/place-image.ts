import { readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { makeOwnedFolder, removeLeftFolders } from "../../host/run/owned-folders.ts";
import { type NativeTool, SLOW_PATHS } from "../native-tool.ts";
import { cacheFolder, TableCache } from "../tables/table-cache.ts";
import { setRun } from "./build-image.ts";
import { canHoldCode, KIND } from "./can-hold-code.ts";
import { type KeptImage, keptImage } from "./kept-image.ts";

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
  tool?: Pick<NativeTool, "name" | "shadows" | "slowPaths" | "isWatched" | "isOwned"> | undefined;
  /** The other tool that it counts as. */
  compat?: "deadstores" | undefined;
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
export function placeImage({ children, samplePeriod, tool, compat, ...options }: ImageOptions): PlacedImage {
  const folders: string[] = [];
  const remove = (isUsed = false): void => {
    for (const folder of isUsed ? folders.slice(1) : folders)
      rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const parent of [...imageParents(), SHARED_MEMORY]) removeLeftFolders(parent, KIND);
    const place = makeOwnedFolder(findImageParent(), KIND);
    folders.push(place);
    if (hasRoom(SHARED_MEMORY)) folders.push(makeOwnedFolder(SHARED_MEMORY, KIND));
    const memories = folders.at(-1)!;
    const memory = join(memories, MEMORY);
    const path = join(place, "memshade.so");
    const tables = new TableCache(place);
    const isWaste = tool?.name !== "waste" ? 0 : compat === undefined ? 1 : 2;
    const image = keptImage(tables.folder, options);
    setRun(image, {
      ...{ memory, tables: tables.prefix, image: path, children, samplePeriod },
      ...{
        isCounting: tool?.name === "heap",
        isWaste,
        slowPath: (tool?.slowPaths ?? 0) > 0 ? SLOW_PATHS : 0,
        shared: tool?.shadows ?? [],
      },
      isWatched: tool?.isWatched === true,
      isOwned: tool?.isOwned === true,
    });
    writeFileSync(path, image);
    return {
      ...{ path, folder: place, tables, remove },
      memoryOf: (pid) => `${memory}${pid}`,
      fullFolder: () => (freeBytes(memories) < FULL_BYTES ? dirname(memories) : undefined),
      memories: () => memoriesIn(memories),
    };
  } catch (error) {
    remove();
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new UserError(`nothing can be written to ${tmpdir()}: ${describeSystemError(error)}`);
  }
}

function imageParents(): string[] {
  return [tmpdir(), cacheFolder()];
}

/** The folder for temporary files, or where no code may lie there, that of the cache. */
function findImageParent(): string {
  const [usual, other] = imageParents();
  if (canLoadFrom(usual)) return usual;
  makeFolders(other, 0o700);
  if (canLoadFrom(other)) return other;
  throw new UserError(
    `${usual}: no code can be loaded from there (noexec), or the dynamic linker takes no such path (a space or a colon); set TMPDIR to another folder`,
  );
}

/** Whether the dynamic linker can be told of an object there, and the system maps it as code. */
function canLoadFrom(folder: string): boolean {
  return !/[\s:]/.test(folder) && canHoldCode(folder);
}

function memoriesIn(folder: string): { path: string; pid: number }[] {
  return readdirSync(folder).flatMap((name) => {
    const [, pid] = MEMORY_NAME.exec(name) ?? [];
    return pid === undefined ? [] : [{ path: join(folder, name), pid: Number(pid) }];
  });
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
