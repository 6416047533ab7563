import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ObjectFile } from "../../../code/objects/index.ts";
import { UnwindTable } from "../../../code/unwind/index.ts";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { cacheFolder, keepingFolder } from "../../host/run/cache-folder.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import { HEADER_VERSION, TABLES_VERSION } from "../layout.ts";
import { tableKey } from "./table-key.ts";
import { isTablesFile, tablesFile } from "./tables-file.ts";

/** Tables of objects, a file by `tableKey` each, which processes map. They are made once. */
export class TableCache {
  readonly folder: string;

  /** @param instead where they are kept if nothing can be written to the cache, or others can: for this run alone */
  constructor(instead: string, caches = cacheFolder()) {
    this.folder = keepingFolder(`tables-${HEADER_VERSION}.${TABLES_VERSION}`, instead, caches);
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

  /** Kept files outlive full disks and lost power, and processes map them. */
  #isWhole(path: string): boolean {
    try {
      return isOwn(path) && isTablesFile(readFileSync(path));
    } catch {
      return false;
    }
  }

  /** Makes the tables of an object, unless they are there, or nothing could find them. */
  make(object: ObjectFile): void {
    const key = tableKey(object);
    if (key === undefined || this.has(object)) return;
    const bytes = tablesFile(UnwindTable.fromObject(object));
    writeWholeFile(join(this.folder, key), (file) => file.write(bytes), KEPT_MODE);
  }
}
