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
import { attempt } from "../../../../ground/bytes/dispensable.ts";
import { FormatError } from "../../../../ground/bytes/errors.ts";
import { viewOf } from "../../../../ground/bytes/numbers.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { NONE } from "../../rewrite/flow-graph.ts";
import type { AccessKind } from "./accesses.ts";
import { ARENA, SLOTS_END } from "./layout.ts";
import type { LoopLoad } from "./loop-loads.ts";

const UNIT_BYTES = 2 ** 20;
const UNITS = Math.floor((SLOTS_END - ARENA) / UNIT_BYTES);
/** Folder of the files that record the owner of each unit. It lies beside the cache folder. */
const placesOf = (folder: string): string => `${folder}-places`;
/**
 * Age limit in ms. A file of this age whose units are still unused was never written; a cached file unused for this
 * long is in no run.
 */
const IN_USE_MS = 600_000;
/** Age in ms at which a lock counts as abandoned. No process needs it for that long. */
const LOCKED_MS = 10_000;

const PRIVATE = 0o700;

export interface SitePlace {
  from: number;
  to: number;
}

/**
 * Assigns slots to a file that no other file of the cache folder uses, also if other processes rewrite files at the
 * same time. The lowest free range is taken, so that large files find room after many small ones. If no range is free,
 * cached files that were not used for a while are removed. Two processes that rewrite the same file get different
 * ranges; `settlePlace` decides between them.
 *
 * @throws Error if all slots are in use
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

/** Decides about a cached file whose slots are wanted for another file. @returns true if the file is removed */
type Removal = (file: string) => boolean;

const keepUsed: Removal = () => false;
const removeUnused: Removal = (file) => {
  if (Date.now() - statSync(file).mtimeMs <= IN_USE_MS) return false;
  rmSync(file, { recursive: true, force: true });
  return true;
};

function findUnits(folder: string, wanted: number, remove: Removal): number | undefined {
  let from = 0;
  for (let unit = 0; unit < UNITS; unit++)
    if (!isFree(folder, join(placesOf(folder), `${unit}`), remove)) from = unit + 1;
    else if (unit + 1 - from === wanted) return from;
  return undefined;
}

/** True if the unit has no owner, or if its owner is not in the cache any more. */
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
  return attempt(() => readFileSync(path, "latin1"), undefined);
}

/**
 * Makes a file's slots final when the file enters the cache. All other slots that were assigned to it become free.
 *
 * @param place slots of the cached file, whichever process wrote it; undefined if it has none
 * @returns false if the file took so long that its slots were assigned to another one; the file is then removed
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

/**
 * Runs an action of a few milliseconds under a lock between processes. The lock of a process that has died is broken.
 */
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

/** Breaks an abandoned lock. If another process has replaced the lock meanwhile, the new lock is put back. */
function breakLock(lock: string): void {
  const broken = `${lock}-${randomUUID()}`;
  try {
    renameSync(lock, broken);
    if (Date.now() - statSync(broken).mtimeMs <= LOCKED_MS) renameSync(broken, lock);
    else rmSync(broken, { recursive: true, force: true });
  } catch {
    // Another process was faster.
  }
}

/** Releases the slots that a file did not need. */
export function keepPlace(folder: string, { from, to }: SitePlace, end: number): void {
  const used = Math.ceil((end - from) / UNIT_BYTES);
  for (let unit = used; unit < (to - from) / UNIT_BYTES; unit++)
    rmSync(join(placesOf(folder), `${(from - ARENA) / UNIT_BYTES + unit}`), { force: true });
}

export interface NativeSite {
  kind: AccessKind;
  /** Address (SVMA) of the instruction. */
  address: number;
  /** Bytes of the access. For a string instruction, bytes of an element. */
  bytes: number;
  loadSlot: number;
  storeSlot: number;
  /** Address of the slot that counts the runs of the access's block. */
  blockSlot: number;
  isSampled: boolean;
  /** Set for a load that reads the same address in all iterations of its loop. */
  loop?: LoopSite | undefined;
}

export interface LoopSite {
  /** Slot of a block that runs at least once for each entry of the loop. */
  entrySlot: number;
  /** Load slot of the load that gives the address; 0: registers keep it. */
  through: number;
}

interface WasteSites {
  sites: NativeSite[];
  from: number;
  to: number;
  unplaced: number;
}

const KINDS: readonly AccessKind[] = ["load", "store", "update", "atomic", "string", "fill"];
const VERSION = 4;
const [FROM, TO] = [2, 3];
const HEADER_WORDS = 6;
const SITE_WORDS = 5;
const LOOP_WORDS = 3;
const WORD = 4;
/** Bit beside the kind of an access. */
const SAMPLED_BIT = 0x80;

/**
 * Collects the notes on a file's sites: 32-bit words, some for the file, some per site, and some per load in a loop. A
 * large file has a million sites, so they are stored in their final encoding.
 */
export class SiteNotes {
  readonly #words = new ByteWriter();
  readonly #loops: { site: number; loop: LoopLoad }[] = [];
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

  /** Notes that the site added last is in a loop. */
  addLoop(loop: LoopLoad): void {
    this.#loops.push({ site: this.#count - 1, loop });
  }

  /** @param slots slots of blocks that bound the entries of loops, and of the loads in loops */
  write(
    { from, to, unplaced }: Omit<WasteSites, "sites">,
    { entries, loads }: Record<"entries" | "loads", ReadonlyMap<number, number>>,
  ): Uint8Array {
    const loops = this.#loops.flatMap(({ site, loop: { entry, through } }) => {
      const [entrySlot, throughSlot] = [entries.get(entry), through === NONE ? 0 : loads.get(through)];
      return entrySlot === undefined || throughSlot === undefined ? [] : [[site, entrySlot, throughSlot]];
    });
    const out = new ByteWriter(WORD * (HEADER_WORDS + LOOP_WORDS * loops.length) + this.#words.length);
    out.u32(VERSION).u32(this.#count).u32(from).u32(to).u32(unplaced).u32(loops.length);
    out.bytes(this.#words.view());
    for (const word of loops.flat()) out.u32(word);
    return out.view();
  }
}

/** @throws FormatError if the bytes are not notes of this version */
export function readNotes(bytes: Uint8Array): WasteSites {
  const view = viewOf(bytes);
  const word = (at: number): number => view.getUint32(WORD * at, true);
  if (
    bytes.length < WORD * HEADER_WORDS ||
    word(0) !== VERSION ||
    bytes.length !== WORD * (HEADER_WORDS + SITE_WORDS * word(1) + LOOP_WORDS * word(5))
  )
    throw new FormatError("malformed", 0, "notes of a rewritten file", "they are not whole");
  const sites = Array.from({ length: word(1) }, (_, i): NativeSite => {
    const at = HEADER_WORDS + SITE_WORDS * i;
    const packed = word(at + 1);
    return {
      kind: KINDS[packed & (SAMPLED_BIT - 1)],
      isSampled: (packed & SAMPLED_BIT) !== 0,
      address: word(at),
      bytes: packed >> 8,
      loadSlot: word(at + 2),
      storeSlot: word(at + 3),
      blockSlot: word(at + 4),
    };
  });
  for (let i = 0; i < word(5); i++) {
    const at = HEADER_WORDS + SITE_WORDS * sites.length + LOOP_WORDS * i;
    const site = sites[word(at)];
    if (site !== undefined) site.loop = { entrySlot: word(at + 1), through: word(at + 2) };
  }
  return { sites, from: word(FROM), to: word(TO), unplaced: word(4) };
}

/** Returns the slots that a notes file names; undefined if it cannot be read. */
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
