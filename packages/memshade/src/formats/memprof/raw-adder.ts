import { PackedMibs, type ProfileMerger } from "../../model/memprof/index.ts";
import { mibBytesOf } from "../memprof-raw/layout.ts";
import type { RawCursor, RawScan } from "../memprof-raw/raw-scan.ts";
import { LocationTable } from "./location-table.ts";
import { PcCache } from "./pc-cache.ts";
import type { RawModule } from "./raw-module.ts";

/** What adding a raw profile came to. */
export interface AddedRaw {
  readonly contexts: number;
  /** Contexts of which no frame is in the given modules. */
  readonly dropped: number;
  /** Contexts that have no frame but places in modules, and those that were dropped. */
  readonly unnamed: number;
}

/**
 * Adds raw profiles to a merger, without an object per context. Every address of a file is symbolized once for all
 * profiles.
 */
export class RawAdder {
  private merger: ProfileMerger;
  private readonly locations: LocationTable;
  private readonly cache = new PcCache();
  private readonly withHistograms: boolean;
  /** By context row: the number of the profile that it was last seen in. */
  private lastSeen = new Uint32Array(256);
  private serial = 0;
  private unnamed = 0;

  constructor(merger: ProfileMerger, withHistograms: boolean) {
    this.merger = merger;
    this.locations = new LocationTable(merger);
    this.withHistograms = withHistograms;
  }

  /** Goes on with another merger, which has the frames and the call sites of the one before. */
  moveTo(merger: ProfileMerger): void {
    this.merger = merger;
    this.locations.moveTo(merger);
    this.lastSeen.fill(0);
  }

  add(scan: RawScan, modules: readonly RawModule[], input: number): AddedRaw {
    const { blocks } = this.merger;
    const present = mibBytesOf(scan.version);
    this.serial++;
    this.cache.clear();
    const sorted = modules.toSorted((a, b) => a.start - b.start);
    const repeated = new PackedMibs();
    // Where several PCs lie on one source position, contexts of one process fall together.
    const rows = blocks.dependsOnOrder ? new Int32Array(scan.length).fill(-1) : undefined;
    let dropped = 0;
    this.unnamed = 0;
    const cursor = scan.contexts();
    for (let context = 0; cursor.next(); context++) {
      const stack = this.stackOf(cursor, sorted);
      if (stack === 0) {
        dropped++;
        continue;
      }
      const known = this.merger.contexts.length;
      const row = this.merger.contexts.rowOf(stack);
      if (rows === undefined) {
        blocks.addPacked(cursor.mib, cursor.mibAt, present, row, row === known, input);
      } else {
        rows[context] = row;
        if (this.wasSeen(row)) repeated.expect(row);
      }
      if (this.withHistograms) this.addHistogram(cursor, row);
    }
    if (rows !== undefined) this.addRows(scan, rows, repeated, present, input);
    return { contexts: scan.length, dropped, unnamed: this.unnamed };
  }

  private addRows(
    scan: RawScan,
    rows: Int32Array,
    repeated: PackedMibs,
    present: number,
    input: number,
  ): void {
    const { blocks } = this.merger;
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

  private stackOf({ pcs: view, pcsAt: start, depth }: RawCursor, modules: readonly RawModule[]): number {
    const { cache, locations, merger } = this;
    let stack = 0;
    let inner = 0;
    for (let at = start + 8 * (depth - 1); at >= start; at -= 8) {
      const low = view.getUint32(at, true);
      const high = view.getUint32(at + 4, true);
      let location = cache.find(low, high);
      if (location < 0) {
        location = this.locate(low + high * 2 ** 32, modules);
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
    else this.unnamed++;
    return stack;
  }

  private locate(pc: number, modules: readonly RawModule[]): number {
    for (const module of modules) {
      if (pc > module.start && pc <= module.end) return this.locations.at(module, pc + module.shift);
    }
    return 0;
  }

  private wasSeen(row: number): boolean {
    if (row >= this.lastSeen.length) {
      const larger = new Uint32Array(Math.ceil(row * 1.5) + 1);
      larger.set(this.lastSeen);
      this.lastSeen = larger;
    }
    const wasSeen = this.lastSeen[row] === this.serial;
    this.lastSeen[row] = this.serial;
    return wasSeen;
  }

  private addHistogram(cursor: RawCursor, row: number): void {
    const histogram = cursor.histogram();
    if (histogram !== undefined) this.merger.addHistogram(row, histogram);
  }
}
