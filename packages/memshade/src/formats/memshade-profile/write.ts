import { joinPieces, type Patch } from "../../bytes/file-piece.ts";
import { ByteWriter } from "../../bytes/writer.ts";
import { type MemprofProfile, type StackTreeView, viewOf } from "../../model/memprof/index.ts";
import { writeContexts, writeSchema } from "./contexts.ts";
import { writeDataAccessChunk } from "./data-access-chunk.ts";
import { CHUNK, CONTEXTS_PER_CHUNK, type Deflate, MAGIC, PACKING, VERSION } from "./layout.ts";
import { pakoDeflate } from "./pako-deflate.ts";
import { RecordChunks } from "./record-chunks.ts";
import { writeTables } from "./tables.ts";

/** Where a profile comes from. */
export interface ProfileOrigin {
  /** Number of profiles that were merged. */
  readonly inputs: number;
  /** Binaries whose addresses were symbolized, by build id. */
  readonly binaries: readonly { readonly buildId: string; readonly name: string }[];
  /** Build ids of modules that occur in the profiles and were not found. */
  readonly unmatched: readonly string[];
}

export const UNKNOWN_ORIGIN: ProfileOrigin = { inputs: 1, binaries: [], unmatched: [] };

/** A built profile as a memshade profile, in one array. */
export function writeMemshadeProfile(
  profile: MemprofProfile,
  origin: ProfileOrigin = UNKNOWN_ORIGIN,
  deflate: Deflate = pakoDeflate,
): Uint8Array {
  return joinPieces(memshadeProfilePieces(viewOf(profile), origin, deflate));
}

/**
 * A memshade profile (docs/memshade-profile.md): everything that a symbolized MemProf profile knows, in pieces. Records
 * are stored in ascending order of their GUIDs. The directory is written over its place when the sizes of all chunks
 * are known.
 */
export function* memshadeProfilePieces(
  profile: StackTreeView,
  origin: ProfileOrigin,
  deflate: Deflate,
): Generator<Uint8Array | Patch, void, undefined> {
  const records = new RecordChunks(profile);
  const contextChunks = Math.ceil(profile.blockCount / CONTEXTS_PER_CHUNK);
  const chunks = 1 + contextChunks + records.chunkCount + (profile.dataAccess === undefined ? 0 : 1);
  const head = new ByteWriter(1 << 8).bytes(MAGIC).u32Leb(VERSION).u32Leb(chunks);
  const directory = new ByteWriter(DIRECTORY_ENTRY_BYTES * chunks);
  yield head.finish();
  yield new Uint8Array(DIRECTORY_ENTRY_BYTES * chunks);
  const writer = new ByteWriter(1 << 14);
  function* chunk(kind: number, write: () => Iterable<void>) {
    const { packing, storedBytes, plainBytes } = yield* packChunk(writer, write, deflate);
    directory.u32Leb(kind).u32Leb(packing);
    for (const size of [storedBytes, plainBytes]) directory.patchU32Leb(directory.reserveU32Leb(), size);
  }
  yield* chunk(CHUNK.tables, () => {
    writeSchema(writer, profile);
    return writeTables(writer, profile, origin, records.places());
  });
  for (let first = 0; first < profile.blockCount; first += CONTEXTS_PER_CHUNK) {
    const end = Math.min(first + CONTEXTS_PER_CHUNK, profile.blockCount);
    yield* chunk(CHUNK.contexts, () => {
      writeContexts(writer, profile, first, end);
      return [];
    });
  }
  for (let index = 0; index < records.chunkCount; index++) {
    yield* chunk(CHUNK.records, () => records.write(writer, index));
  }
  const { dataAccess } = profile;
  if (dataAccess !== undefined) {
    yield* chunk(CHUNK.dataAccess, () => {
      writer.bytes(writeDataAccessChunk(dataAccess));
      return [];
    });
  }
  yield { at: head.length, bytes: directory.finish() };
}

/** Kind and packing take a byte each, the two sizes five. */
const DIRECTORY_ENTRY_BYTES = 12;

interface PackedChunk {
  readonly packing: number;
  readonly storedBytes: number;
  readonly plainBytes: number;
}

/**
 * Packs what `write` writes, whenever it stops and there is enough of it. Small chunks stay as they are, where that is
 * shorter.
 */
function* packChunk(
  writer: ByteWriter,
  write: () => Iterable<void>,
  deflate: Deflate,
): Generator<Uint8Array, PackedChunk, undefined> {
  writer.clear();
  let plainBytes = 0;
  let storedBytes = 0;
  const parts = write()[Symbol.iterator]();
  let isLast = parts.next().done === true;
  if (isLast) {
    const packed = joinPieces(deflate.pack([writer.view()]));
    const isWorth = packed.length < writer.length;
    const content = isWorth ? packed : writer.view();
    yield content;
    const packing = isWorth ? PACKING.deflate : PACKING.none;
    return { packing, storedBytes: content.length, plainBytes: writer.length };
  }
  function* pieces() {
    for (;;) {
      plainBytes += writer.length;
      if (writer.length > 0) yield writer.view();
      writer.clear();
      if (isLast) return;
      isLast = parts.next().done === true;
    }
  }
  for (const packed of deflate.pack(pieces())) {
    storedBytes += packed.length;
    yield packed;
  }
  return { packing: PACKING.deflate, storedBytes, plainBytes };
}
