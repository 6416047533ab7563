import type { Patch } from "../../../ground/bytes/file-piece.ts";
import type { DataAccessProfile } from "../../model/memprof/index.ts";
import type { ChunkFile } from "./chunk-file.ts";
import { writeDataAccessChunk } from "./data-access-chunk.ts";
import { CHUNK } from "./layout.ts";
import type { RecordChunks } from "./record-chunks.ts";

/** What stands behind the contexts of a memshade profile, to the end: records, data accesses, and the directory's patch. */
export function* lastChunks(
  file: ChunkFile,
  records: RecordChunks,
  dataAccess: DataAccessProfile | undefined,
): Generator<Uint8Array | Patch, void, undefined> {
  for (let index = 0; index < records.chunkCount; index++)
    yield* file.chunk(CHUNK.records, (writer) => records.write(writer, index));
  if (dataAccess !== undefined)
    yield* file.chunk(CHUNK.dataAccess, (writer) => {
      writer.bytes(writeDataAccessChunk(dataAccess));
      return [];
    });
  yield file.end();
}
