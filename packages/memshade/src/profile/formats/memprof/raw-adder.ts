import {
  isUnresolved,
  type MemprofFrame,
  PackedMibs,
  type ProfileMerger,
} from "../../model/memprof/index.ts";
import { mibBytesOf } from "../memprof-raw/layout.ts";
import type { RawCursor, RawScan } from "../memprof-raw/raw-scan.ts";

/** Maps PCs to locations for one profile at a time: an open hash table of three numbers per entry. */
export class PcCache {
  #lows = new Uint32Array(1 << 12);
  #highs = new Uint32Array(1 << 12);
  /** Location plus one; 0 for an empty slot. */
  #values = new Uint32Array(1 << 12);
  #count = 0;

  clear(): void {
    this.#values.fill(0);
    this.#count = 0;
  }

  find(low: number, high: number): number {
    const lows = this.#lows;
    const highs = this.#highs;
    const values = this.#values;
    const mask = values.length - 1;
    for (let slot = hashOf(low, high) & mask; ; slot = (slot + 1) & mask) {
      const value = values[slot]!;
      if (value === 0) return -1;
      if (lows[slot] === low && highs[slot] === high) return value - 1;
    }
  }

  add(low: number, high: number, location: number): void {
    if (2 * ++this.#count > this.#values.length) this.#enlarge();
    this.#put(low, high, location + 1);
  }

  #put(low: number, high: number, value: number): void {
    const mask = this.#values.length - 1;
    let slot = hashOf(low, high) & mask;
    while (this.#values[slot] !== 0) slot = (slot + 1) & mask;
    this.#lows[slot] = low;
    this.#highs[slot] = high;
    this.#values[slot] = value;
  }

  #enlarge(): void {
    const lows = this.#lows;
    const highs = this.#highs;
    const values = this.#values;
    this.#lows = new Uint32Array(2 * lows.length);
    this.#highs = new Uint32Array(2 * lows.length);
    this.#values = new Uint32Array(2 * lows.length);
    for (const [slot, value] of values.entries())
      if (value !== 0) this.#put(lows[slot]!, highs[slot]!, value);
  }
}

function hashOf(low: number, high: number): number {
  const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return hash ^ (hash >>> 15);
}

export interface AddedRaw {
  readonly contexts: number;
  readonly dropped: number;
  /** Contexts without any function name: all of their frames are module offsets, or they were dropped. */
  readonly unnamed: number;
}

/**
 * Adds raw profiles to a merger, without an object per context. Every address of a file is symbolized once for all
 * profiles.
 */
export class RawAdder {
  #merger: ProfileMerger;
  readonly #locations: LocationTable;
  readonly #cache = new PcCache();
  readonly #withHistograms: boolean;
  /** Serial number of the last profile that had the context, by context row. */
  #lastSeen = new Uint32Array(256);
  #serial = 0;
  #unnamed = 0;

  constructor(merger: ProfileMerger, withHistograms: boolean) {
    this.#merger = merger;
    this.#locations = new LocationTable(merger);
    this.#withHistograms = withHistograms;
  }

  /** Continues with another merger, which has the frames and the call sites of the previous one. */
  moveTo(merger: ProfileMerger): void {
    this.#merger = merger;
    this.#locations.moveTo(merger);
    this.#lastSeen.fill(0);
  }

  add(scan: RawScan, modules: readonly RawModule[], input: number): AddedRaw {
    const { blocks } = this.#merger;
    const present = mibBytesOf(scan.version);
    this.#serial++;
    this.#cache.clear();
    const sorted = modules.toSorted((a, b) => a.start - b.start);
    const repeated = new PackedMibs();
    // If several PCs have the same source position, contexts of one process become equal.
    const rows = blocks.dependsOnOrder ? new Int32Array(scan.length).fill(-1) : undefined;
    let dropped = 0;
    this.#unnamed = 0;
    const cursor = scan.contexts();
    for (let context = 0; cursor.next(); context++) {
      const stack = this.#stackOf(cursor, sorted);
      if (stack === 0) {
        dropped++;
        continue;
      }
      const rowCount = this.#merger.contexts.length;
      const row = this.#merger.contexts.rowOf(stack);
      if (rows === undefined) {
        blocks.addPacked(cursor.mib, cursor.mibAt, present, row, row === rowCount, input);
      } else {
        rows[context] = row;
        if (this.#wasSeen(row)) repeated.expect(row);
      }
      if (this.#withHistograms) this.#addHistogram(cursor, row);
    }
    if (rows !== undefined) this.#addRows(scan, rows, repeated, present, input);
    return { contexts: scan.length, dropped, unnamed: this.#unnamed };
  }

  #addRows(scan: RawScan, rows: Int32Array, repeated: PackedMibs, present: number, input: number): void {
    const { blocks } = this.#merger;
    const cursor = scan.contexts();
    for (let context = 0; cursor.next(); context++) {
      const row = rows[context]!;
      if (row < 0) continue;
      const { mib, mibAt } = cursor;
      if (repeated.isEmpty || !repeated.has(row)) {
        blocks.addPacked(mib, mibAt, present, row, blocks.isEmpty(row), input);
        continue;
      }
      repeated.merge(row, mib, mibAt, present);
    }
    repeated.forEach((row, view, at, bytes) => {
      blocks.addPacked(view, at, bytes, row, blocks.isEmpty(row), input);
    });
  }

  #stackOf({ pcs: view, pcsAt: start, depth }: RawCursor, modules: readonly RawModule[]): number {
    const cache = this.#cache;
    const locations = this.#locations;
    const merger = this.#merger;
    let stack = 0;
    let inner = 0;
    for (let at = start + 8 * (depth - 1); at >= start; at -= 8) {
      const low = view.getUint32(at, true);
      const high = view.getUint32(at + 4, true);
      let location = cache.find(low, high);
      if (location < 0) {
        location = this.#locate(low + high * 2 ** 32, modules);
        cache.add(low, high, location);
      }
      if (location === 0) continue;
      if (!locations.isPlace(location)) {
        if (inner !== 0) locations.useAsCaller(inner);
        inner = location;
      }
      const frames = locations.framesOf(location);
      for (let index = 0; index < frames.length; index++) stack = merger.stacks.child(stack, frames[index]!);
    }
    if (inner !== 0) locations.useAsLeaf(inner);
    else this.#unnamed++;
    return stack;
  }

  #locate(pc: number, modules: readonly RawModule[]): number {
    for (const module of modules)
      if (pc > module.start && pc <= module.end) return this.#locations.at(module, pc + module.shift);
    return 0;
  }

  #wasSeen(row: number): boolean {
    if (row >= this.#lastSeen.length) {
      const larger = new Uint32Array(Math.ceil(row * 1.5) + 1);
      larger.set(this.#lastSeen);
      this.#lastSeen = larger;
    }
    const wasSeen = this.#lastSeen[row] === this.#serial;
    this.#lastSeen[row] = this.#serial;
    return wasSeen;
  }

  #addHistogram(cursor: RawCursor, row: number): void {
    const histogram = cursor.histogram();
    if (histogram !== undefined) this.#merger.addHistogram(row, histogram);
  }
}

/**
 * Address range of a segment for the lookup of PCs. A PC inside (`start` < PC ≤ `end`) has the file address PC +
 * `shift`.
 */
export interface RawModule {
  readonly start: number;
  readonly end: number;
  /** Difference from run-time addresses to addresses of the file. */
  readonly shift: number;
  /** Key of the results of `framesAt`: modules with equal keys share them. */
  readonly key: string;
  /** Returns the frames at an address of the file, innermost first; empty if the address is to be dropped. */
  readonly framesAt: (address: number) => readonly MemprofFrame[];
}

const AS_CALLER = 1;
const AS_LEAF = 2;

/**
 * Locations (addresses with their frames) of all profiles of a merge. Location 0 has no frames. The first use of a
 * location adds its call sites: the whole inline chain to every function of the chain. The innermost function is
 * skipped if the location is the allocation call itself.
 */
class LocationTable {
  #merger: ProfileMerger;
  readonly #byAddress = new Map<string, Map<number, number>>();
  /** Frames of each location, outermost first. */
  readonly #frames: number[][] = [[]];
  readonly #uses: number[] = [0];
  readonly #places = new Set<number>();

  constructor(merger: ProfileMerger) {
    this.#merger = merger;
  }

  moveTo(merger: ProfileMerger): void {
    this.#merger = merger;
  }

  at({ key, framesAt }: RawModule, address: number): number {
    let locations = this.#byAddress.get(key);
    if (locations === undefined) {
      locations = new Map();
      this.#byAddress.set(key, locations);
    }
    let location = locations.get(address);
    if (location === undefined) {
      const found = framesAt(address);
      location = this.#add(found.map((frame) => this.#merger.frames.intern(frame)));
      if (isUnresolved(found[0]?.name)) this.#places.add(location);
      locations.set(address, location);
    }
    return location;
  }

  /** Returns true if a location is only a module offset, without a function. */
  isPlace(location: number): boolean {
    return this.#places.size > 0 && this.#places.has(location);
  }

  framesOf(location: number): readonly number[] {
    return this.#frames[location]!;
  }

  useAsCaller(location: number): void {
    if ((this.#uses[location]! & AS_CALLER) === 0) this.#addCallSites(location, AS_CALLER);
  }

  useAsLeaf(location: number): void {
    if ((this.#uses[location]! & AS_LEAF) === 0) this.#addCallSites(location, AS_LEAF);
  }

  #add(innermostFirst: readonly number[]): number {
    if (innermostFirst.length === 0) return 0;
    const frames = innermostFirst.toReversed();
    this.#uses.push(0);
    return this.#frames.push(frames) - 1;
  }

  #addCallSites(location: number, use: number): void {
    this.#uses[location]! |= use;
    const frames = this.#frames[location]!;
    const last = use === AS_LEAF ? frames.length - 1 : frames.length;
    if (last === 0) return;
    const { stacks, callSites, frames: table } = this.#merger;
    const chain = frames.reduce((stack, frame) => stacks.child(stack, frame), 0);
    for (const frame of frames.slice(0, last)) callSites.add(table.at(frame).guid, chain, undefined);
  }
}
