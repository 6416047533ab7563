import { readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../aot/index.ts";
import { bytesOfBase64 } from "../../bytes/base64.ts";
import { UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { makeOwnedFolder, removeLeftFolders } from "../../host/run/owned-folders.ts";
import { NATIVE_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { NATIVE_WALL_RUNTIME_BASE64 } from "../runtime-wall.generated.ts";
import { TableCache } from "../tables/table-cache.ts";
import { buildImage, type ImageOptions } from "./build-image.ts";

/** Where memory that processes share is never written to a disk. */
const SHARED_MEMORY = "/dev/shm";
/** With less room there, tables might not fit: then the folder for temporary files has them. */
const LEAST_SHARED_BYTES = 2 ** 30;

const KIND = "native";
/** What the number of a process is appended to. */
const MEMORY = "heap.";
const MEMORY_NAME = /^heap\.(\d+)(?:\.(\d+))?$/;

/** What is on the file system for the time of a run. */
export interface PlacedImage {
  /** Of the shared object. */
  path: string;
  tables: TableCache;
  /** The file that a process shares its memory by. */
  memoryOf: (pid: number) => string;
  /** Those that there are, in no order: of which process, and the how manyth of that one, from 1 on. */
  memories: () => { path: string; pid: number; turn: number }[];
  /** `isUsed`: programs may be started with it still. It stays until the next run then. */
  remove: (isUsed?: boolean) => void;
}

/**
 * Writes the image for one run.
 *
 * @throws UserError in one line where nothing can be written, or the dynamic linker could not be told of it
 */
export function placeImage(options: ImageOptions & { clock: "virtual" | "wall" }): PlacedImage {
  const folders: string[] = [];
  const remove = (isUsed = false): void => {
    for (const folder of isUsed ? folders.slice(1) : folders) rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const parent of [tmpdir(), SHARED_MEMORY]) removeLeftFolders(parent, KIND);
    const place = makeOwnedFolder(tmpdir(), KIND);
    folders.push(place);
    if (/[\s:]/.test(place))
      throw new UserError(
        `${tmpdir()}: the dynamic linker takes no path with a space or a colon; set TMPDIR`,
      );
    if (hasRoom(SHARED_MEMORY)) folders.push(makeOwnedFolder(SHARED_MEMORY, KIND));
    const memories = folders.at(-1)!;
    const memory = join(memories, MEMORY);
    const path = join(place, "memshade.so");
    const tables = new TableCache(place);
    const runtime = options.clock === "wall" ? NATIVE_WALL_RUNTIME_BASE64 : NATIVE_RUNTIME_BASE64;
    const code = compile(bytesOfBase64(runtime));
    writeFileSync(path, buildImage(code, { memory, tables: tables.prefix, image: path }, options));
    return {
      ...{ path, tables, remove },
      memoryOf: (pid) => `${memory}${pid}`,
      memories: () => memoriesIn(memories),
    };
  } catch (error) {
    remove();
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new UserError(`nothing can be written to ${tmpdir()}: ${describeSystemError(error)}`);
  }
}

function memoriesIn(folder: string): { path: string; pid: number; turn: number }[] {
  return readdirSync(folder).flatMap((name) => {
    const [, pid, turn = "1"] = MEMORY_NAME.exec(name) ?? [];
    return pid === undefined ? [] : [{ path: join(folder, name), pid: Number(pid), turn: Number(turn) }];
  });
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= LEAST_SHARED_BYTES;
  } catch {
    return false;
  }
}
