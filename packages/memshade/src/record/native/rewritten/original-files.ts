import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { openObject } from "../../../code/objects/index.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import type { Mount } from "./enter-namespace.ts";

/** Bytes of the table in a copy of the dynamic linker: its last code segment ends with it. */
export const TABLE_BYTES = 1 << 19;
/** Of the table: a count of entries, where the path of the list of started programs stands, then entries. Paths stand behind them. */
export const [STARTED_AT, ENTRIES_AT] = [4, 16];
/** Of an entry: device and inode of a file that stands in the place of another one, as `stat` has them, and where the other's path stands. */
export const [INODE_AT, PATH_AT, ENTRY_BYTES] = [8, 16, 24];

const PF_X = 1;
/** Programs that have become other users find the originals, too; the names cannot be listed. */
const PASSABLE = 0o711;

/** Has every file that stands in the place of another one. The other is found there by its own path, and by another one in `folder`. */
export function keepOriginals(folder: string, covers: readonly Mount[]): Mount[] {
  const originals = join(folder, "originals");
  chmodSync(folder, PASSABLE);
  mkdirSync(originals, PASSABLE);
  return covers.map(({ path }, i) => {
    const kept = join(originals, `${i}-${basename(path)}`);
    writeFileSync(kept, "");
    return { file: path, path: kept };
  });
}

/**
 * Tells a copy of the dynamic linker where the originals are. `originals`: of each of `covers`, what `keepOriginals` has given; `started`: the file
 * to which programs add the paths of those that they start.
 */
export function tellOfOriginals(
  loader: Uint8Array,
  covers: readonly Mount[],
  originals: readonly Mount[],
  started: string,
): void {
  const { fileOffset, fileSize } = openObject(loader).segments.findLast(({ flags }) => (flags & PF_X) !== 0)!;
  const table = loader.subarray(fileOffset + fileSize - TABLE_BYTES, fileOffset + fileSize);
  const view = new DataView(table.buffer, table.byteOffset, table.length);
  view.setUint32(0, covers.length, true);
  let free = ENTRIES_AT + ENTRY_BYTES * covers.length;
  const putPath = (one: string): number => {
    const path = new TextEncoder().encode(`${one}\0`);
    if (free + path.length > table.length)
      throw new UserError(`${covers.length} files are more than can be rewritten for one program`);
    table.set(path, free);
    free += path.length;
    return free - path.length;
  };
  view.setUint32(STARTED_AT, putPath(started), true);
  for (const [i, { file }] of covers.entries()) {
    const { dev, ino } = statSync(file, { bigint: true });
    const entry = ENTRIES_AT + ENTRY_BYTES * i;
    view.setBigUint64(entry, dev, true);
    view.setBigUint64(entry + INODE_AT, ino, true);
    view.setBigUint64(entry + PATH_AT, BigInt(putPath(originals[i].path)), true);
  }
}
