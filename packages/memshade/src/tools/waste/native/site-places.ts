import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { ARENA, SLOTS_END } from "./layout.ts";

/** Slots are given to files by so many bytes at a time. */
const UNIT_BYTES = 2 ** 20;
const UNITS = Math.floor((SLOTS_END - ARENA) / UNIT_BYTES);
/** Beside the folder whose files have them. */
const placesOf = (folder: string): string => `${folder}-places`;
/** A file that was given slots so long ago has been rewritten, or never will be; one that was not used for so long is in no run, ms. */
const IN_USE_MS = 600_000;

/** A range of slots that is one file's alone. */
export interface SitePlace {
  from: number;
  to: number;
}

/** Whether a file may lose its slots, by its key. */
type MayLose = (owner: string) => boolean;

/**
 * Gives a file slots that no other file has that is kept in a folder, whoever rewrites at the same time: each unit of them is a file there
 * that only one can make. Where no others are left, files are removed from the folder that were not used for a while.
 *
 * @throws Error if all are in use
 */
export function takePlace(folder: string, key: string, bytes: number): SitePlace {
  const remove: MayLose = (owner) => {
    const file = join(folder, owner);
    if (Date.now() - statSync(file).mtimeMs <= IN_USE_MS) return false;
    rmSync(file, { recursive: true, force: true });
    return true;
  };
  const wanted = Math.max(1, Math.ceil(bytes / UNIT_BYTES));
  const units = takeUnits(folder, key, wanted, () => false) ?? takeUnits(folder, key, wanted, remove);
  if (units === undefined)
    throw new Error("other programs have taken all tables for its sites; try again in ten minutes");
  const from = ARENA + units[0] * UNIT_BYTES;
  return { from, to: from + wanted * UNIT_BYTES };
}

/** Units that follow each other; undefined where no others than those of other files are left. */
function takeUnits(folder: string, key: string, wanted: number, mayLose: MayLose): number[] | undefined {
  const places = placesOf(folder);
  mkdirSync(places, { recursive: true });
  const start = Number.parseInt(key.slice(0, 8), 16) % UNITS;
  const taken: number[] = [];
  const giveBack = (): void => {
    for (const unit of taken.splice(0)) rmSync(join(places, `${unit}`), { force: true });
  };
  for (let i = 0; i < UNITS + wanted; i++) {
    const unit = (start + i) % UNITS;
    if (unit === 0) giveBack();
    if (takeUnit(join(places, `${unit}`), folder, key, mayLose)) taken.push(unit);
    else giveBack();
    if (taken.length === wanted) return taken;
  }
  giveBack();
  return undefined;
}

/** Slots that a file does not need, others may have. */
export function keepPlace(folder: string, { from, to }: SitePlace, end: number): void {
  const used = Math.ceil((end - from) / UNIT_BYTES);
  for (let unit = used; unit < (to - from) / UNIT_BYTES; unit++)
    rmSync(join(placesOf(folder), `${(from - ARENA) / UNIT_BYTES + unit}`), { force: true });
}

function takeUnit(path: string, folder: string, key: string, mayLose: MayLose): boolean {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const file = openSync(path, "wx");
      writeSync(file, key);
      closeSync(file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (!isAbandoned(path, folder, key, mayLose)) return false;
    rmSync(path, { force: true });
  }
  return false;
}

/** The file that has it is the same one, which is rewritten again, is not kept any more, or may lose it. */
function isAbandoned(path: string, folder: string, key: string, mayLose: MayLose): boolean {
  try {
    const owner = readFileSync(path, "latin1");
    if (owner === key) return true;
    if (existsSync(join(folder, owner))) return mayLose(owner);
    return Date.now() - statSync(path).mtimeMs > IN_USE_MS;
  } catch {
    return false;
  }
}
