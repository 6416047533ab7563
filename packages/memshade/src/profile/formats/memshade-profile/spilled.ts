import type { Patch } from "../../../ground/bytes/file-piece.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import {
  BlockMerge,
  type CreateSpillFile,
  type SpilledProfile,
  type SpillFile,
} from "../../model/memprof/index.ts";
import { ChunkFile, type PackedChunk, packChunk } from "./chunk-file.ts";
import { type BlocksView, writeContexts, writeSchema } from "./contexts.ts";
import { lastChunks } from "./last-chunks.ts";
import { CHUNK, CONTEXTS_PER_CHUNK, type Deflate, PIECE_BYTES } from "./layout.ts";
import { RecordChunks } from "./record-chunks.ts";
import { SpilledRecords } from "./spilled-records.ts";
import { writeTables } from "./tables.ts";
import type { ProfileOrigin } from "./types.ts";

/** What a file has, as is told when it is written. */
export interface WrittenSizes {
  readonly contexts: number;
  readonly functions: number;
}

const READ_BYTES = 1 << 16;

/**
 * A memshade profile of what was merged into runs, the same as that of a merge in memory. The runs are walked through
 * once; what the file has in another order is kept in more files meanwhile.
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

/** Walks through the runs: stacks and packed chunks of blocks go into files, sites into the records. */
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
  /** By depth: number and frame of the stack and of its callers. */
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
