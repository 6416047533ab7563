import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { FormatError } from "../../../../ground/bytes/errors.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { AccessKind, Unfollowed } from "./accesses.ts";
import { ARENA, SLOTS_END } from "./layout.ts";

/** Slots are given to files by so many bytes at a time. */
const UNIT_BYTES = 2 ** 20;
const UNITS = Math.floor((SLOTS_END - ARENA) / UNIT_BYTES);
/** Beside the folder whose files have them. */
const placesOf = (folder: string): string => `${folder}-places`;
/** A file that was given slots so long ago has been rewritten, or never will be; one that was not used for so long is in no run, ms. */
const IN_USE_MS = 600_000;
/** Nobody looks for slots for so long, ms. */
const LOCKED_MS = 10_000;

const PRIVATE = 0o700;

/** A range of slots that is one file's alone. */
export interface SitePlace {
  from: number;
  to: number;
}

/**
 * Gives a file slots that no other file has that is kept in a folder, whoever rewrites at the same time: the first ones that are free, so
 * that large files find room behind many small ones. Where no others are left, files are removed from the folder that were not used for a while.
 * Whoever rewrites the same file meanwhile gets others: `settlePlace` says whose stay.
 *
 * @throws Error if all are in use
 */
export function takePlace(folder: string, key: string, bytes: number): SitePlace {
  const places = placesOf(folder);
  mkdirSync(places, { recursive: true, mode: PRIVATE });
  const wanted = Math.max(1, Math.ceil(bytes / UNIT_BYTES));
  const first = alone(places, () => {
    const found = findUnits(folder, wanted, keepUsed) ?? findUnits(folder, wanted, removeUnused);
    for (let i = 0; found !== undefined && i < wanted; i++) writeFileSync(join(places, `${found + i}`), key);
    return found;
  });
  if (first === undefined)
    throw new Error("other programs have taken all tables for its sites; try again in ten minutes");
  const from = ARENA + first * UNIT_BYTES;
  return { from, to: from + wanted * UNIT_BYTES };
}

/** What is to become of a file of the cache whose slots another one wants. @returns whether it is gone */
type Removal = (file: string) => boolean;

const keepUsed: Removal = () => false;
const removeUnused: Removal = (file) => {
  if (Date.now() - statSync(file).mtimeMs <= IN_USE_MS) return false;
  rmSync(file, { recursive: true, force: true });
  return true;
};

/** The first of so many units that follow each other and are free. */
function findUnits(folder: string, wanted: number, remove: Removal): number | undefined {
  let from = 0;
  for (let unit = 0; unit < UNITS; unit++)
    if (!isFree(folder, join(placesOf(folder), `${unit}`), remove)) from = unit + 1;
    else if (unit + 1 - from === wanted) return from;
  return undefined;
}

/** Nobody has the unit, or the file that has it is not kept any more. */
function isFree(folder: string, path: string, remove: Removal): boolean {
  const owner = ownerOf(path);
  if (owner === undefined) return true;
  try {
    const file = join(folder, owner);
    return existsSync(file) ? remove(file) : Date.now() - statSync(path).mtimeMs > IN_USE_MS;
  } catch {
    return false;
  }
}

function ownerOf(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

/**
 * When a file is kept: the slots that it has stay its own, and all others that were its are free.
 *
 * @param place that of the file that is kept, whoever has made it; undefined: none is
 * @returns whether they still were its own. If not, its making took so long that somebody else has got them: it is removed
 */
export function settlePlace(folder: string, key: string, place: SitePlace | undefined): boolean {
  const places = placesOf(folder);
  const [first, end] =
    place === undefined
      ? [0, 0]
      : [place.from, place.to].map((address) => Math.ceil((address - ARENA) / UNIT_BYTES));
  return alone(places, () => {
    let own = 0;
    for (const unit of readdirSync(places)) {
      if (ownerOf(join(places, unit)) !== key) continue;
      if (Number(unit) >= first! && Number(unit) < end!) own++;
      else rmSync(join(places, unit), { force: true });
    }
    if (own === end! - first!) return true;
    rmSync(join(folder, key), { recursive: true, force: true });
    return false;
  });
}

/** Does something that takes milliseconds while no other process does it. Who ended meanwhile is not waited for. */
function alone<T>(folder: string, act: () => T): T {
  const lock = `${folder}-lock`;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > LOCKED_MS) breakLock(lock);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
  try {
    return act();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** Of several that do so at once, one does; the others may meet the lock of that one, and give it back. */
function breakLock(lock: string): void {
  const broken = `${lock}-${randomUUID()}`;
  try {
    renameSync(lock, broken);
    if (Date.now() - statSync(broken).mtimeMs <= LOCKED_MS) renameSync(broken, lock);
    else rmSync(broken, { recursive: true, force: true });
  } catch {
    // Somebody else was faster.
  }
}

/** Slots that a file does not need, others may have. */
export function keepPlace(folder: string, { from, to }: SitePlace, end: number): void {
  const used = Math.ceil((end - from) / UNIT_BYTES);
  for (let unit = used; unit < (to - from) / UNIT_BYTES; unit++)
    rmSync(join(placesOf(folder), `${(from - ARENA) / UNIT_BYTES + unit}`), { force: true });
}

/** An access of a file, and where its figures are. */
export interface NativeSite {
  kind: AccessKind;
  /** Address (SVMA) of its instruction. */
  address: number;
  /** Of string instructions, those of an element. */
  bytes: number;
  /** Addresses of its slots; 0: it has none. */
  loadSlot: number;
  storeSlot: number;
  /** Address of the slot with the runs of its block, which is sampled or not. */
  blockSlot: number;
  isSampled: boolean;
}

/** What a file's plan has come to. */
interface WasteSites {
  sites: NativeSite[];
  /** Its slots: `[from, to)`. */
  from: number;
  to: number;
  unfollowed: Unfollowed;
  /** Accesses for which there were no slots left. */
  unplaced: number;
}

const KINDS: readonly AccessKind[] = ["load", "store", "update", "atomic", "string", "fill"];
const COUNTS = ["stack", "thread", "unusual"] as const satisfies readonly (keyof Unfollowed)[];
const VERSION = 2;
const [FROM, TO] = [2, 3];
const HEADER_WORDS = 5 + COUNTS.length;
const SITE_WORDS = 5;
const WORD = 4;
/** Beside the kind of an access. */
const SAMPLED_BIT = 0x80;

/**
 * What is kept of a file's sites: words of 32 bits, a few for all and some for each. A large file has a million of them: they are kept as what
 * will be written.
 */
export class SiteNotes {
  readonly #words = new ByteWriter();
  #count = 0;

  add({ kind, address, bytes, loadSlot, storeSlot, blockSlot, isSampled }: NativeSite): void {
    this.#count++;
    this.#words
      .u32(address)
      .u32((bytes << 8) | (isSampled ? SAMPLED_BIT : 0) | KINDS.indexOf(kind))
      .u32(loadSlot)
      .u32(storeSlot)
      .u32(blockSlot);
  }

  write({ from, to, unfollowed, unplaced }: Omit<WasteSites, "sites">): Uint8Array {
    const out = new ByteWriter(WORD * HEADER_WORDS + this.#words.length);
    out.u32(VERSION).u32(this.#count).u32(from).u32(to).u32(unplaced);
    for (const count of COUNTS) out.u32(unfollowed[count]);
    return out.bytes(this.#words.view()).view();
  }
}

/** @throws FormatError if it is none of this version */
export function readNotes(bytes: Uint8Array): WasteSites {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const word = (at: number): number => view.getUint32(WORD * at, true);
  if (
    bytes.length < WORD * HEADER_WORDS ||
    word(0) !== VERSION ||
    bytes.length !== WORD * (HEADER_WORDS + SITE_WORDS * word(1))
  )
    throw new FormatError("malformed", 0, "notes of a rewritten file", "they are not whole");
  const sites = Array.from({ length: word(1) }, (_, i): NativeSite => {
    const at = HEADER_WORDS + SITE_WORDS * i;
    const what = word(at + 1);
    return {
      kind: KINDS[what & (SAMPLED_BIT - 1)],
      isSampled: (what & SAMPLED_BIT) !== 0,
      address: word(at),
      bytes: what >> 8,
      loadSlot: word(at + 2),
      storeSlot: word(at + 3),
      blockSlot: word(at + 4),
    };
  });
  const [stack, thread, unusual] = COUNTS.map((_, i) => word(5 + i));
  return { sites, from: word(FROM), to: word(TO), unplaced: word(4), unfollowed: { stack, thread, unusual } };
}

/** The slots that notes are of; undefined: there are none. */
export function notedPlace(path: string): SitePlace | undefined {
  const header = new DataView(new ArrayBuffer(WORD * HEADER_WORDS));
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    if (readSync(file, header) < header.byteLength) return undefined;
    return { from: header.getUint32(WORD * FROM, true), to: header.getUint32(WORD * TO, true) };
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
