import { accessSync, constants, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { makeFolders } from "../../host/run/make-folders.ts";
import { writeWholeFile } from "../../load/whole-file.ts";
import type { ObjectFile } from "../../objects/index.ts";
import { UnwindTable } from "../../unwind/index.ts";
import { HEADER_VERSION, TABLES_VERSION } from "../layout.ts";
import { tableKey } from "./table-key.ts";
import { isTablesFile, tablesFile } from "./tables-file.ts";

/** The folder where what is made once per object or version is kept. */
export function cacheFolder({ env } = process): string {
  const caches = env.XDG_CACHE_HOME;
  return join(caches?.startsWith("/") ? caches : join(homedir(), ".cache"), "memshade", "native");
}

/** Tables of objects, a file by `tableKey` each, which processes map. They are made once. */
export class TableCache {
  readonly folder: string;

  /** @param instead where they are kept if nothing can be written to the cache: for this run alone */
  constructor(instead: string, caches = cacheFolder()) {
    const name = `tables-${HEADER_VERSION}.${TABLES_VERSION}`;
    this.folder = join(caches, name);
    try {
      makeWritable(this.folder);
    } catch {
      this.folder = join(instead, name);
      makeWritable(this.folder);
    }
  }

  /** What the key of an object is appended to, for the path of its tables. */
  get prefix(): string {
    return join(this.folder, "/");
  }

  /** Whether the tables of an object are there as they were made, or nothing could find them. */
  has(object: ObjectFile): boolean {
    const key = tableKey(object);
    return key === undefined || this.#isWhole(join(this.folder, key));
  }

  /** Kept files outlive full disks and lost power. */
  #isWhole(path: string): boolean {
    try {
      return isTablesFile(readFileSync(path));
    } catch {
      return false;
    }
  }

  /** Makes the tables of an object, unless they are there, or nothing could find them. */
  make(object: ObjectFile): void {
    const key = tableKey(object);
    if (key === undefined || this.has(object)) return;
    const bytes = tablesFile(UnwindTable.fromObject(object));
    writeWholeFile(join(this.folder, key), (file) => file.write(bytes));
  }
}

function makeWritable(folder: string): void {
  makeFolders(folder, 0o700);
  accessSync(folder, constants.W_OK);
}
