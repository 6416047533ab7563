import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { Window } from "../../../ground/bytes/window.ts";
import { Column, NarrowColumn, SlotTable } from "../../model/memprof/index.ts";
import { mibFromPacked, packMib } from "../../model/memprof/merge/block-merge.ts";
import { type Mib, mergeMib } from "../../model/mib.ts";
import type { RawSegment, RawVersion } from "../../model/raw-profile.ts";
import { type DumpHeader, readSectionOffsets } from "./headers.ts";
import { decodeHistogramCount } from "./histogram.ts";
import { histogramEntryBytesOf, mibBytesOf } from "./layout.ts";
import { differentStacks, missingStack, noStacksLeft, requireEqualSegments } from "./merge-dumps.ts";
import type { RawCursor, RawScan, StackCursor } from "./raw-scan.ts";
import { readSegments } from "./read.ts";
import { SectionReader } from "./section-reader.ts";

const NEWEST_MIB_BYTES = mibBytesOf(4);

/**
 * Index of several dumps of one process, or of a dump in any order: the file positions of each id's blocks and stack.
 * An id takes about 50 bytes per dump.
 */
export class DumpIndex implements RawScan {
  /** Version of the merged blocks that the cursors return. */
  readonly version: RawVersion = 4;
  readonly lastVersion: RawVersion;
  readonly segments: readonly RawSegment[];
  readonly #source: ByteSource;
  readonly #ids = new IdTable();
  readonly #order = new Column();
  #count = 0;
  /** First and last block of each row, plus 1. */
  readonly #firstBlock = new Column();
  readonly #lastBlock = new Column();
  /** Offset of each block, the version of its dump, and the next block of the same row, plus 1. */
  readonly #blockAt = new OffsetColumn();
  readonly #blockVersion = new NarrowColumn(1);
  readonly #nextBlock = new Column();
  #blocks = 0;
  /** Offset of the PCs of each row, and their number. */
  readonly #stackAt = new OffsetColumn();
  readonly #depths = new NarrowColumn(1);
  #hasStacks = false;

  constructor(source: ByteSource, headers: readonly DumpHeader[]) {
    this.#source = source;
    this.lastVersion = headers.at(-1)!.version;
    const window = new Window(source);
    const [first, ...laterHeaders] = headers;
    this.segments = this.#readDump(window, first!);
    for (const header of laterHeaders) this.#readDump(window, header, this.segments);
    for (let index = 0; index < this.#count; index++) {
      const row = this.#order.get(index);
      if (this.#stackAt.get(row) !== 0) continue;
      throw this.#hasStacks ? missingStack(this.#ids.idOf(row)) : noStacksLeft();
    }
  }

  get length(): number {
    return this.#count;
  }

  contexts(): RawCursor {
    return new IndexCursor(this, new Window(this.#source), new Window(this.#source));
  }

  looseStacks(): StackCursor {
    return new LooseStacks(this, new Window(this.#source));
  }

  blockReader(): (place: number) => Mib {
    const window = new Window(this.#source, 1 << 12);
    return (row) => this.mibOf(row, window);
  }

  get rows(): number {
    return this.#ids.length;
  }

  hasBlock(row: number): boolean {
    return this.#firstBlock.get(row) !== 0;
  }

  rowAt(index: number): number {
    return this.#order.get(index);
  }

  depthOf(row: number): number {
    return this.#depths.get(row);
  }

  pcsOf(row: number): number {
    return this.#stackAt.get(row);
  }

  mibOf(row: number, window: Window): Mib {
    let merged: Mib | undefined;
    for (let block = this.#firstBlock.get(row); block !== 0; block = this.#nextBlock.get(block - 1)) {
      const mib = readMib(
        window,
        this.#blockAt.get(block - 1),
        this.#blockVersion.get(block - 1) as RawVersion,
      );
      if (merged === undefined) merged = mib;
      else mergeMib(merged, mib);
    }
    return merged!;
  }

  /** Indexes one dump. @param expected the segments that the dump must have */
  #readDump(window: Window, header: DumpHeader, expected?: readonly RawSegment[]): RawSegment[] {
    const { fileOffset, version, totalSize } = header;
    const { segmentOffset, mibOffset, stackOffset } = readSectionOffsets(window, header);
    const section = (name: string, start: number, end: number) =>
      new SectionReader(window, name, fileOffset + start, fileOffset + end);
    const segments = readSegments(section("segment section", segmentOffset, mibOffset));
    if (expected !== undefined) requireEqualSegments(expected, segments, fileOffset);
    this.#readBlocks(section("MIB section", mibOffset, stackOffset), version);
    this.#readStacks(section("stack section", stackOffset, totalSize), fileOffset);
    return segments;
  }

  #readBlocks(section: SectionReader, version: RawVersion): void {
    const mibBytes = mibBytesOf(version);
    const entryBytes = histogramEntryBytesOf(version);
    for (let remaining = section.readCount(8 + mibBytes); remaining > 0; remaining--) {
      const row = this.#ids.rowOf(section.readU64());
      this.#addBlock(row, section.position, version);
      if (entryBytes === 0) {
        section.skip(mibBytes);
        continue;
      }
      section.skip(mibBytes - 12);
      const entries = section.readU32();
      section.skip(8);
      section.need(entries * entryBytes, "access histogram");
      section.skip(entries * entryBytes);
    }
  }

  #addBlock(row: number, offset: number, version: RawVersion): void {
    const block = this.#blocks++;
    this.#blockAt.set(block, offset);
    this.#blockVersion.set(block, version);
    const last = this.#lastBlock.get(row);
    if (last === 0) {
      this.#firstBlock.set(row, block + 1);
      this.#order.set(this.#count++, row);
    } else {
      this.#nextBlock.set(last - 1, block + 1);
    }
    this.#lastBlock.set(row, block + 1);
  }

  #readStacks(section: SectionReader, fileOffset: number): void {
    const earlierStacks = new Window(this.#source);
    for (let remaining = section.readCount(16); remaining > 0; remaining--) {
      const row = this.#ids.rowOf(section.readU64());
      const depth = section.readU64();
      section.need(depth * 8n, "call stack");
      const bytes = 8 * Number(depth);
      const offset = section.position;
      if (this.#stackAt.get(row) === 0) {
        this.#hasStacks = true;
        this.#stackAt.set(row, offset);
        this.#depths.set(row, Number(depth));
      } else if (
        this.#depths.get(row) !== Number(depth) ||
        !this.#haveEqualBytes(earlierStacks, row, offset, bytes)
      )
        throw differentStacks(fileOffset);
      section.skip(bytes);
    }
  }

  #haveEqualBytes(window: Window, row: number, offset: number, bytes: number): boolean {
    const first = window.slice(this.#stackAt.get(row), bytes);
    const later = window.slice(offset, bytes);
    return first.every((byte, index) => byte === later[index]);
  }
}

class IndexCursor implements RawCursor {
  readonly mib = new DataView(new ArrayBuffer(NEWEST_MIB_BYTES));
  readonly mibAt = 0;
  pcsAt = 0;
  depth = 0;
  place = 0;
  readonly #index: DumpIndex;
  readonly #blocks: Window;
  readonly #stacks: Window;
  #number = 0;
  #current: Mib | undefined;

  constructor(index: DumpIndex, blocks: Window, stacks: Window) {
    this.#index = index;
    this.#blocks = blocks;
    this.#stacks = stacks;
  }

  get pcs(): DataView {
    return this.#stacks.view;
  }

  next(): boolean {
    const index = this.#index;
    if (this.#number === index.length) return false;
    const row = index.rowAt(this.#number++);
    this.place = row;
    this.#current = index.mibOf(row, this.#blocks);
    packMib(this.#current, this.mib);
    this.depth = index.depthOf(row);
    this.pcsAt = this.#stacks.at(index.pcsOf(row), 8 * this.depth);
    return true;
  }

  histogram(): BigUint64Array | undefined {
    const histogram = this.#current?.histogram;
    return histogram === undefined || histogram.length === 0 ? undefined : BigUint64Array.from(histogram);
  }
}

class LooseStacks implements StackCursor {
  pcsAt = 0;
  depth = 0;
  readonly #index: DumpIndex;
  readonly #stacks: Window;
  #row = -1;

  constructor(index: DumpIndex, stacks: Window) {
    this.#index = index;
    this.#stacks = stacks;
  }

  get pcs(): DataView {
    return this.#stacks.view;
  }

  next(): boolean {
    const index = this.#index;
    do this.#row++;
    while (this.#row < index.rows && index.hasBlock(this.#row));
    if (this.#row >= index.rows) return false;
    this.depth = index.depthOf(this.#row);
    this.pcsAt = this.#stacks.at(index.pcsOf(this.#row), 8 * this.depth);
    return true;
  }
}

/** Maps 64-bit ids to rows from 0, in the order of first lookup. */
class IdTable {
  readonly #lows = new Column();
  readonly #highs = new NarrowColumn(1);
  readonly #slots = new SlotTable();
  #count = 0;

  get length(): number {
    return this.#count;
  }

  rowOf(id: bigint): number {
    const low = Number(id & 0xffffffffn);
    const high = Number(id >> 32n);
    const slots = this.#slots;
    const hash = hashOf(low, high);
    let slot = slots.first(hash);
    for (let found = slots.get(slot); found !== 0; found = slots.get(slot)) {
      const row = slots.numberIn(found) - 1;
      if (slots.mayHave(found, hash) && this.#lows.get(row) === low && this.#highs.get(row) === high)
        return row;
      slot = slots.next(slot);
    }
    this.#lows.set(this.#count, low);
    this.#highs.set(this.#count++, high);
    if (slots.fill(slot, this.#count, hash)) {
      slots.enlarge();
      for (let row = 0; row < this.#count; row++)
        slots.add(hashOf(this.#lows.get(row), this.#highs.get(row)), row + 1);
    }
    return this.#count - 1;
  }

  idOf(row: number): bigint {
    return BigInt(this.#lows.get(row)) + (BigInt(this.#highs.get(row)) << 32n);
  }
}

function hashOf(low: number, high: number): number {
  const hash = Math.imul(low ^ (low >>> 15) ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return hash ^ (hash >>> 16);
}

/** Column of file offsets, which may exceed 32 bits. */
export class OffsetColumn {
  readonly #lows = new Column();
  readonly #highs = new NarrowColumn(1);

  get(row: number): number {
    return this.#lows.get(row) + this.#highs.get(row) * 2 ** 32;
  }

  set(row: number, offset: number): void {
    this.#lows.set(row, offset >>> 0);
    this.#highs.set(row, Math.floor(offset / 2 ** 32));
  }
}

export function readMib(window: Window, offset: number, version: RawVersion): Mib {
  const bytes = mibBytesOf(version);
  const at = window.at(offset, bytes);
  const mib = mibFromPacked(window.view, at, bytes);
  const entryBytes = histogramEntryBytesOf(version);
  const histogram = readHistogram(window, offset + bytes, mib.accessHistogramSize, entryBytes);
  if (histogram !== undefined) mib.histogram = [...histogram];
  return mib;
}

export function readHistogram(
  window: Window,
  offset: number,
  entries: number,
  entryBytes: number,
): BigUint64Array | undefined {
  if (entries === 0) return undefined;
  const at = window.at(offset, entries * entryBytes);
  const { view } = window;
  return BigUint64Array.from({ length: entries }, (_, index) =>
    entryBytes === 8
      ? view.getBigUint64(at + 8 * index, true)
      : decodeHistogramCount(view.getUint16(at + 2 * index, true)),
  );
}
