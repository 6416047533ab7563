import { type ByteSource, partOfSource, sourceOfBytes } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64 } from "../../../ground/bytes/numbers.ts";
import { Window } from "../../../ground/bytes/window.ts";
import type { RawVersion } from "../../model/raw-profile.ts";
import { DumpIndex, readHistogram, readMib } from "./dump-index.ts";
import { type DumpHeader, readSectionOffsets, walkDumps } from "./headers.ts";
import { histogramEntryBytesOf, mibBytesOf } from "./layout.ts";
import type { RawCursor, RawScan, StackCursor } from "./raw-scan.ts";
import { readSegments } from "./read.ts";
import { SectionReader } from "./section-reader.ts";

/**
 * Finds the contexts of a raw profile. Everything is checked before the function returns.
 *
 * @throws FormatError as {@link readRawDumps} and {@link readRaw}
 */
export function scanRaw(profile: ByteSource | Uint8Array): RawScan {
  const source = profile instanceof Uint8Array ? sourceOfBytes(profile) : profile;
  const headers = walkDumps(new Window(source));
  // Every file but a single dump in the runtime's order needs an index.
  return (
    (headers.length === 1 ? scanPlainDump(source, headers[0]!) : undefined) ?? new DumpIndex(source, headers)
  );
}

/** Returns undefined unless the dump has one stack per block, in the same order, and no repeated id. */
function scanPlainDump(source: ByteSource, header: DumpHeader): RawScan | undefined {
  const window = new Window(source);
  const { segmentOffset, mibOffset, stackOffset } = readSectionOffsets(window, header);
  const { version, totalSize } = header;
  const length = readCount(window, mibOffset, stackOffset);
  if (length === undefined || readCount(window, stackOffset, totalSize) !== length) return undefined;
  const contexts = () => new PlainCursor(source, { version, length, mibOffset, stackOffset, totalSize });
  const probe = contexts();
  while (probe.skip());
  if (!probe.isComplete) return undefined;
  const segments = readSegments(new SectionReader(window, "segment section", segmentOffset, mibOffset));
  return {
    version,
    lastVersion: version,
    segments,
    length,
    contexts,
    looseStacks: () => NO_STACKS,
    blockReader: () => {
      const blocks = new Window(source, ONE_BLOCK_BYTES);
      return (place) => readMib(blocks, place, version);
    },
  };
}

const ONE_BLOCK_BYTES = 1 << 12;

const NO_STACKS: StackCursor = {
  next: () => false,
  pcs: new DataView(new ArrayBuffer(0)),
  pcsAt: 0,
  depth: 0,
};

function readCount(window: Window, start: number, end: number): number | undefined {
  if (end - start < 8) return undefined;
  const at = window.at(start, 8);
  const count = window.view.getBigUint64(at, true);
  return count * 16n > end - start ? undefined : Number(count);
}

interface PlainDump {
  readonly version: RawVersion;
  readonly length: number;
  readonly mibOffset: number;
  readonly stackOffset: number;
  readonly totalSize: number;
}

/** Reads the blocks and the stacks of a dump in parallel. */
class PlainCursor implements RawCursor {
  depth = 0;
  mibAt = 0;
  pcsAt = 0;
  readonly #blocks: Window;
  readonly #stacks: Window;
  readonly #dump: PlainDump;
  readonly #mibBytes: number;
  readonly #entryBytes: number;
  #remaining: number;
  #lastId = -1;
  #block = 0;
  #entries = 0;
  #nextBlock: number;
  #nextStack: number;

  constructor(source: ByteSource, dump: PlainDump) {
    this.#blocks = new Window(source);
    this.#stacks = new Window(source);
    this.#dump = dump;
    this.#mibBytes = mibBytesOf(dump.version);
    this.#entryBytes = histogramEntryBytesOf(dump.version);
    this.#remaining = dump.length;
    this.#nextBlock = dump.mibOffset + 8;
    this.#nextStack = dump.stackOffset + 8;
  }

  get mib(): DataView {
    return this.#blocks.view;
  }

  get place(): number {
    return this.#block;
  }

  get pcs(): DataView {
    return this.#stacks.view;
  }

  get isComplete(): boolean {
    return this.#remaining === 0;
  }

  next(): boolean {
    if (!this.skip()) return false;
    this.pcsAt = this.#stacks.at(this.#nextStack - 8 * this.depth, 8 * this.depth);
    return true;
  }

  /** Moves like `next`, without the PCs. @returns false at the end, and at a malformed context */
  skip(): boolean {
    const blocks = this.#blocks;
    const stacks = this.#stacks;
    const mibBytes = this.#mibBytes;
    const entryBytes = this.#entryBytes;
    const { stackOffset, totalSize } = this.#dump;
    if (this.#remaining === 0) return false;
    if (this.#nextBlock + 8 + mibBytes > stackOffset || this.#nextStack + 16 > totalSize) return false;
    const at = blocks.at(this.#nextBlock, 8 + mibBytes);
    const id = blocks.view.getUint32(at, true);
    if (id <= this.#lastId || blocks.view.getUint32(at + 4, true) !== 0) return false;
    this.#lastId = id;
    this.mibAt = at + 8;
    this.#block = this.#nextBlock + 8;
    this.#nextBlock += 8 + mibBytes;
    if (entryBytes > 0) {
      this.#entries = blocks.view.getUint32(this.mibAt + mibBytes - 12, true);
      this.#nextBlock += entryBytes * this.#entries;
      if (this.#nextBlock > stackOffset) return false;
    }
    const stackAt = stacks.at(this.#nextStack, 16);
    const { view } = stacks;
    if (view.getUint32(stackAt, true) !== id || view.getUint32(stackAt + 4, true) !== 0) return false;
    const depth = getU64(view, stackAt + 8);
    this.#nextStack += 16;
    if (8 * depth > totalSize - this.#nextStack) return false;
    this.#nextStack += 8 * depth;
    this.depth = depth;
    this.#remaining--;
    return true;
  }

  histogram(): BigUint64Array | undefined {
    const blocks = this.#blocks;
    const entries = this.#entries;
    const entryBytes = this.#entryBytes;
    const mibBytes = this.#mibBytes;
    const block = this.#block;
    return readHistogram(blocks, block + mibBytes, entries, entryBytes);
  }
}

/**
 * Scans the dumps of a raw file one by one, each with its own segments. The file may hold dumps of several processes.
 *
 * @throws FormatError as {@link readRawDumps}
 */
export function scanDumps(source: ByteSource): RawScan[] {
  return walkDumps(new Window(source)).map(({ fileOffset, totalSize }) => {
    try {
      return scanRaw(partOfSource(source, fileOffset, totalSize));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      throw new FormatError(error.kind, fileOffset + error.offset, error.construct, error.detail);
    }
  });
}
