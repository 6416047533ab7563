import type { Patch } from "../../../ground/bytes/file-piece.ts";
import type { StackTreeView } from "../../model/memprof/index.ts";
import { ChunkFile, lastChunks } from "./chunk-file.ts";
import { CHUNK, CONTEXTS_PER_CHUNK, type Deflate, PIECE_BYTES } from "./layout.ts";
import { RecordChunks, type RecordSource, writeCallSites } from "./record-chunks.ts";
import { type TablesSource, writeContexts, writeSchema, writeTables } from "./tables.ts";
import type { ProfileOrigin } from "./types.ts";

/**
 * Yields a memshade profile (docs/memshade-profile.md): all data of a symbolized MemProf profile, in pieces. Records
 * are stored in ascending order of their GUIDs. The directory is patched in when the sizes of all chunks are known.
 */
export function* memshadeProfilePieces(
  profile: StackTreeView,
  origin: ProfileOrigin,
  deflate: Deflate,
): Generator<Uint8Array | Patch, void, undefined> {
  const records = new RecordChunks(recordsOf(profile));
  const contextChunks = Math.ceil(profile.blockCount / CONTEXTS_PER_CHUNK);
  const { dataAccess } = profile;
  const file = new ChunkFile(
    1 + contextChunks + records.chunkCount + (dataAccess === undefined ? 0 : 1),
    deflate,
  );
  yield* file.begin();
  yield* file.chunk(CHUNK.tables, (writer) => {
    writeSchema(writer, profile);
    return writeTables(writer, tablesOf(profile), origin, records.places());
  });
  for (let first = 0; first < profile.blockCount; first += CONTEXTS_PER_CHUNK) {
    const end = Math.min(first + CONTEXTS_PER_CHUNK, profile.blockCount);
    yield* file.chunk(CHUNK.contexts, (writer) => {
      writeContexts(writer, profile, first, end);
      return [];
    });
  }
  yield* lastChunks(file, records, dataAccess);
}

function tablesOf(profile: StackTreeView): TablesSource {
  return {
    frames: profile.frames,
    stackCount: profile.treeLength - 1,
    recordCount: profile.records.length,
    *writeStacks(writer) {
      const stacks = profile.stacks();
      for (let stack = 1; stacks.next(); stack++) {
        writer.u32Leb(stack - stacks.parent).u32Leb(stacks.frame);
        if (writer.length >= PIECE_BYTES) yield;
      }
    },
  };
}

/** Stores sites as differences: neighbouring sites are close, so differences are small. */
function recordsOf(profile: StackTreeView): RecordSource {
  const { guid: guids, allocStart, allocStack, allocBlock, callStart, callStack, callees } = profile.records;
  return {
    guids,
    *write(writer, row) {
      writer.u32Leb(allocStart[row + 1]! - allocStart[row]!);
      let lastStack = 0;
      let lastBlock = 0;
      for (let site = allocStart[row]!; site < allocStart[row + 1]!; site++) {
        const stack = profile.numberOf(allocStack[site]!);
        writer.s64Leb(stack - lastStack).s64Leb(allocBlock[site]! - lastBlock);
        lastStack = stack;
        lastBlock = allocBlock[site]!;
        if (writer.length >= PIECE_BYTES) yield;
      }
      const calls = Array.from({ length: callStart[row + 1]! - callStart[row]! }, (_, index) => {
        const site = callStart[row]! + index;
        return { stack: profile.numberOf(callStack[site]!), callees: callees.get(site) ?? [] };
      });
      yield* writeCallSites(writer, calls);
    },
  };
}
