import { readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../aot/index.ts";
import { bytesOfBase64 } from "../../bytes/base64.ts";
import { UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { makeOwnedFolder, removeLeftFolders } from "../../host/run/owned-folders.ts";
import { writeWholeFile } from "../../load/whole-file.ts";
import { NATIVE_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { TableCache } from "../tables/table-cache.ts";
import { buildImage, setOptions } from "./build-image.ts";

/** Where memory that processes share is never written to a disk. */
const SHARED_MEMORY = "/dev/shm";
/** With less room there, tables might not fit: then the folder for temporary files has them. */
const LEAST_SHARED_BYTES = 2 ** 30;

const KIND = "native";
/** Sources that run as they are change under one name. */
const BUILT_FILE = /-([\w-]{8})\.js$/;

/** What is on the file system for the time of a run. */
export interface PlacedImage {
  /** Of the shared object. */
  path: string;
  tables: TableCache;
  /** The file that a process shares its memory by. */
  memoryOf: (pid: number) => string;
  remove: () => void;
}

/**
 * Writes the image for one run.
 *
 * @param samplePeriod CPU time of a thread from one sample to the next, ns; undefined: no samples are taken
 * @throws UserError in one line where nothing can be written, or the dynamic linker could not be told of it
 */
export function placeImage(samplePeriod?: number): PlacedImage {
  const folders: string[] = [];
  const remove = (): void => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
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
    const memory = join(folders.at(-1)!, "heap.");
    const path = join(place, "memshade.so");
    const tables = new TableCache(place);
    const image = builtImage(tables.folder, samplePeriod !== undefined);
    setOptions(image, { memory, tables: tables.prefix, image: path, samplePeriod });
    writeFileSync(path, image);
    return { path, tables, memoryOf: (pid) => `${memory}${pid}`, remove };
  } catch (error) {
    remove();
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new UserError(`nothing can be written to ${tmpdir()}: ${describeSystemError(error)}`);
  }
}

/**
 * The image without paths. Compiling takes as long as all else before the program starts, so it is kept: under the name of the
 * built file that this is part of, as the compiler and the runtime are, which has a hash of the contents in it.
 */
function builtImage(folder: string, isSampled: boolean): Uint8Array {
  const build = () => buildImage(compile(bytesOfBase64(NATIVE_RUNTIME_BASE64)), isSampled);
  const [, version] = BUILT_FILE.exec(import.meta.url) ?? [];
  if (version === undefined) return build();
  const path = join(folder, `image-${version}${isSampled ? "-sampled" : ""}`);
  try {
    return readFileSync(path);
  } catch {
    const image = build();
    writeWholeFile(path, (file) => file.write(image));
    return image;
  }
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= LEAST_SHARED_BYTES;
  } catch {
    return false;
  }
}
