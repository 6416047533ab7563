import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { openObject } from "../../../code/objects/index.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import type { Mount } from "./enter-namespace.ts";

/** Bytes of the table at the end of the last code segment in a copy of the dynamic linker. */
export const TABLE_BYTES = 1 << 19;
/**
 * Offsets in the table, which begins with a count: offset of the path of the list of started programs, then
 * entries. Paths follow.
 */
export const [STARTED_AT, ENTRIES_AT] = [4, 16];
/**
 * Fields of an entry: device and inode (as in `stat`) of a replacing file, and the offset of the original's
 * path.
 */
export const [INODE_AT, PATH_AT, ENTRY_BYTES] = [8, 16, 24];

const PF_X = 1;
/** Programs that have changed their user can open the originals, but not list them. */
const PASSABLE = 0o711;

/** Makes a mount for the original of each replaced file, in `folder`. */
export function keepOriginals(folder: string, covers: readonly Mount[]): Mount[] {
  const originals = join(folder, "originals");
  chmodSync(folder, PASSABLE);
  mkdirSync(originals, PASSABLE);
  return covers.map(({ path }, i) => {
    const mountPoint = join(originals, `${i}-${basename(path)}`);
    writeFileSync(mountPoint, "");
    return { file: path, path: mountPoint };
  });
}

/**
 * Writes the table of originals into a copy of the dynamic linker.
 * @param originals results of `keepOriginals` for `covers`
 * @param started file to which programs append the paths of programs that they start
 */
export function writeOriginals(
  loader: Uint8Array,
  covers: readonly Mount[],
  originals: readonly Mount[],
  started: string,
): void {
  const { fileOffset, fileSize } = openObject(loader).segments.findLast(({ flags }) => (flags & PF_X) !== 0)!;
  const table = loader.subarray(fileOffset + fileSize - TABLE_BYTES, fileOffset + fileSize);
  const view = viewOf(table);
  view.setUint32(0, covers.length, true);
  let free = ENTRIES_AT + ENTRY_BYTES * covers.length;
  const putPath = (text: string): number => {
    const path = new TextEncoder().encode(`${text}\0`);
    if (free + path.length > table.length)
      throw new UserError(
        `the program loads ${covers.length} files, more than can be instrumented for one program`,
      );
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
