import { entryOf } from "../../../ground/bytes/entries.ts";
import type { Patch } from "../../../ground/bytes/file-piece.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import {
  BlockMerge,
  type CreateSpillFile,
  isUnresolved,
  type SpilledProfile,
  type SpillFile,
} from "../../model/memprof/index.ts";
import { ChunkFile, lastChunks, type PackedChunk, packChunk } from "./chunk-file.ts";
import { CHUNK, CONTEXTS_PER_CHUNK, type Deflate, PIECE_BYTES } from "./layout.ts";
import { RecordChunks, type RecordSource, type StoredCallSite, writeCallSites } from "./record-chunks.ts";
import { type BlocksView, writeContexts, writeSchema, writeTables } from "./tables.ts";
import type { ProfileOrigin } from "./types.ts";

export interface WrittenSizes {
  readonly contexts: number;
  readonly functions: number;
}

const READ_BYTES = 1 << 16;

/**
 * Yields a memshade profile of a merge that was spilled into runs, with the same bytes as a merge in memory. The runs
 * are walked once; data that the file has in another order goes to temporary files first.
 */
export function* spilledProfilePieces(
  profile: SpilledProfile,
  origin: ProfileOrigin,
  deflate: Deflate,
  create: CreateSpillFile,
): Generator<Uint8Array | Patch, WrittenSizes, undefined> {
  const stackFile = create();
  const blockFile = create();
  const recordFile = create();
  try {
    const parts = walkThrough(profile, deflate, { stackFile, blockFile, recordFile });
    const { view, blockChunks, stackCount, blockCount } = parts;
    const records = new RecordChunks(parts.records);
    const { dataAccess, frames } = profile;
    const file = new ChunkFile(
      1 + blockChunks.length + records.chunkCount + (dataAccess === undefined ? 0 : 1),
      deflate,
    );
    yield* file.begin();
    const recordCount = parts.records.guids.length;
    yield* file.chunk(CHUNK.tables, (writer) => {
      writeSchema(writer, { ...view, blockCount });
      const writeStacks = (to: ByteWriter) => copyAll(stackFile, to);
      return writeTables(writer, { frames, stackCount, recordCount, writeStacks }, origin, records.places());
    });
    for (const chunk of blockChunks) file.note(CHUNK.contexts, chunk);
    for (const piece of piecesOf(blockFile)) yield piece;
    yield* lastChunks(file, records, dataAccess);
    return { contexts: blockCount, functions: recordCount };
  } finally {
    for (const file of [stackFile, blockFile, recordFile]) file.release();
  }
}

interface Parts {
  readonly view: BlocksView;
  readonly blockChunks: readonly PackedChunk[];
  readonly stackCount: number;
  readonly blockCount: number;
  readonly records: SpilledRecords;
}

/** Walks through the runs. Stacks and packed chunks of blocks go into files, sites into the records. */
function walkThrough(
  profile: SpilledProfile,
  deflate: Deflate,
  { stackFile, blockFile, recordFile }: Readonly<Record<"stackFile" | "blockFile" | "recordFile", SpillFile>>,
): Parts {
  const { walk, ranks, allFields } = profile;
  const blocks = new BlockMerge(allFields);
  const histograms: (BigUint64Array | undefined)[] = [];
  const view: BlocksView = {
    fields: profile.fields,
    field: (field) => (profile.fields.includes(field) ? blocks.words(allFields.indexOf(field)) : undefined),
    hasHistograms: profile.hasHistograms,
    histogramOf: (row) => histograms[row],
  };
  const blockChunks: PackedChunk[] = [];
  const blockWriter = new ByteWriter(1 << 14);
  const packBlocks = (count: number) => {
    const write = () => {
      writeContexts(blockWriter, view, 0, count);
      return [];
    };
    const packing = packChunk(blockWriter, write, deflate);
    for (let piece = packing.next(); ; piece = packing.next()) {
      if (piece.done === true) {
        blockChunks.push(piece.value);
        return;
      }
      blockFile.append(piece.value);
    }
  };
  const records = new SpilledRecords(profile, recordFile);
  const stackWriter = new ByteWriter(READ_BYTES + (READ_BYTES >> 3));
  const numbers = [0];
  const frames = [0];
  let stackCount = 0;
  let blockCount = 0;
  let rows = 0;
  for (let isMore = true; isMore; isMore = walk.next()) {
    const { depth } = walk;
    if (depth > 0) {
      numbers[depth] = ++stackCount;
      frames[depth] = ranks[walk.frame]!;
      stackWriter.u32Leb(stackCount - numbers[depth - 1]!).u32Leb(frames[depth]!);
      if (stackWriter.length >= READ_BYTES) {
        stackFile.append(stackWriter.view());
        stackWriter.clear();
      }
    }
    if (walk.isCallSite) records.addCallStack(stackCount);
    if (!walk.hasContext) continue;
    const { histogram, otherFunctions } = walk.take(blocks, rows);
    histograms[rows++] = histogram;
    records.addContext(frames, depth, stackCount, blockCount++, otherFunctions);
    if (rows < CONTEXTS_PER_CHUNK) continue;
    packBlocks(rows);
    rows = 0;
  }
  if (rows > 0) packBlocks(rows);
  stackFile.append(stackWriter.view());
  return { view, blockChunks, stackCount, blockCount, records };
}

function* piecesOf(file: SpillFile): Generator<Uint8Array, void, undefined> {
  const piece = new Uint8Array(Math.min(READ_BYTES, file.size));
  for (let at = 0; at < file.size; at += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, file.size - at));
    file.read(at, part);
    yield part;
  }
}

function* copyAll(file: SpillFile, writer: ByteWriter): Generator<void, void, undefined> {
  for (const piece of piecesOf(file)) {
    writer.bytes(piece);
    if (writer.length >= PIECE_BYTES) yield;
  }
}

/** Bytes of a record that stay in memory; earlier ones go to a file. */
const PART_BYTES = 1 << 13;

interface Sites {
  readonly writer: ByteWriter;
  count: number;
  lastStack: number;
  lastBlock: number;
  /** Offset and length, in turn, of each part in the file. */
  readonly parts: number[];
}

/** Records of all functions, collected while contexts arrive in order. */
class SpilledRecords implements RecordSource {
  readonly #profile: SpilledProfile;
  readonly #file: SpillFile;
  readonly #isPlace: Uint8Array;
  readonly #byFunction = new Map<bigint, Sites>();
  readonly #byFrame: (Sites | undefined)[] = [];
  readonly #numbers = new Map<number, number>();
  #guidsOfRows: readonly bigint[] | undefined;

  constructor(profile: SpilledProfile, file: SpillFile) {
    const { source, length } = profile.frames;
    this.#profile = profile;
    this.#file = file;
    const isPlaceName = source?.strings.map(isUnresolved) ?? [];
    this.#isPlace = Uint8Array.from({ length }, (_, frame) => (isPlaceName[source!.name[frame]!] ? 1 : 0));
  }

  /** GUIDs in ascending order. Nothing may be added after the first access. */
  get guids(): readonly bigint[] {
    if (this.#guidsOfRows === undefined) {
      const guids = new Set([...this.#byFunction.keys(), ...this.#profile.callSites.functions()]);
      this.#guidsOfRows = [...guids].sort((a, b) => (a < b ? -1 : 1));
    }
    return this.#guidsOfRows;
  }

  /** Records the number of the next stack of a call site. */
  addCallStack(stack: number): void {
    const { callStacks } = this.#profile;
    this.#numbers.set(callStacks[this.#numbers.size]!, stack);
  }

  /**
   * Adds a context to the records of the functions in its innermost inline chain, and of the functions in `otherFunctions`.
   *
   * @param frames by depth, outermost first; the context's frames are those up to `depth`
   */
  addContext(
    frames: readonly number[],
    depth: number,
    stack: number,
    block: number,
    otherFunctions: ReadonlySet<bigint>,
  ): void {
    const { inline } = this.#profile.frames;
    const seen: Sites[] = [];
    const note = (sites: Sites) => {
      if (!seen.includes(sites)) seen.push(sites);
    };
    let innermost = depth;
    while (innermost > 0 && this.#isPlace[frames[innermost]!] === 1) innermost--;
    for (let at = innermost === 0 ? depth : innermost; at > 0; at--) {
      note(this.#sitesOfFrame(frames[at]!));
      if (inline[frames[at]!] === 0) break;
    }
    for (const guid of otherFunctions) note(this.#sitesOf(guid));
    for (const sites of seen) this.#add(sites, stack, block);
  }

  *write(writer: ByteWriter, row: number): Generator<void, void, undefined> {
    const guid = this.guids[row]!;
    const sites = this.#byFunction.get(guid);
    writer.u32Leb(sites?.count ?? 0);
    if (sites !== undefined) {
      const { parts } = sites;
      for (let index = 0; index < parts.length; index += 2) {
        const part = new Uint8Array(parts[index + 1]!);
        this.#file.read(parts[index]!, part);
        writer.bytes(part);
        if (writer.length >= PIECE_BYTES) yield;
      }
      writer.bytes(sites.writer.view());
    }
    yield* writeCallSites(writer, this.#callSitesOf(guid));
  }

  #callSitesOf(guid: bigint): StoredCallSite[] {
    const { callSites } = this.#profile;
    return callSites
      .stacksOf(guid)
      .map((stack) => ({ stack: this.#numbers.get(stack)!, callees: callSites.calleesOf(guid, stack) }))
      .sort((a, b) => a.stack - b.stack);
  }

  #sitesOfFrame(frame: number): Sites {
    let sites = this.#byFrame[frame];
    if (sites === undefined) {
      sites = this.#sitesOf(this.#profile.frames.guid[frame]!);
      this.#byFrame[frame] = sites;
    }
    return sites;
  }

  #sitesOf(guid: bigint): Sites {
    return entryOf(this.#byFunction, guid, () => ({
      writer: new ByteWriter(16),
      count: 0,
      lastStack: 0,
      lastBlock: 0,
      parts: [],
    }));
  }

  #add(sites: Sites, stack: number, block: number): void {
    const { writer, parts } = sites;
    writer.s64Leb(stack - sites.lastStack).s64Leb(block - sites.lastBlock);
    sites.count++;
    sites.lastStack = stack;
    sites.lastBlock = block;
    if (writer.length < PART_BYTES) return;
    parts.push(this.#file.size, writer.length);
    this.#file.append(writer.view());
    writer.clear();
  }
}
