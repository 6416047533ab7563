import { ByteWriter } from "../../bytes/writer.ts";
import type { MemprofProfile } from "../../model/memprof/index.ts";
import { writeContexts, writeSchema } from "./contexts.ts";
import { writeDataAccessChunk } from "./data-access-chunk.ts";
import {
  CHUNK,
  CONTEXTS_PER_CHUNK,
  type Deflate,
  MAGIC,
  PACKING,
  RECORD_CHUNK_BYTES,
  VERSION,
} from "./layout.ts";
import { pakoDeflate } from "./pako-deflate.ts";
import { writeTables } from "./tables.ts";

/** Where the record of a function stands. */
export interface RecordPlace {
  readonly guid: bigint;
  /** Number of the record chunk, and offset in it. */
  readonly chunk: number;
  readonly offset: number;
}

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

/**
 * A memshade profile (docs/memshade-profile.md): everything that a symbolized MemProf profile knows. Records are
 * stored in ascending order of their GUIDs.
 */
export function writeMemshadeProfile(
  profile: MemprofProfile,
  origin: ProfileOrigin = UNKNOWN_ORIGIN,
  deflate: Deflate = pakoDeflate,
): Uint8Array {
  const chunks: { kind: number; plain: Uint8Array }[] = [];
  const { places, recordChunks } = writeRecords(profile);
  const tables = new ByteWriter(1 << 12);
  writeSchema(tables, profile.blocks);
  writeTables(tables, profile, origin, places);
  chunks.push({ kind: CHUNK.tables, plain: tables.finish() });
  for (let first = 0; first < profile.blocks.length; first += CONTEXTS_PER_CHUNK) {
    const end = Math.min(first + CONTEXTS_PER_CHUNK, profile.blocks.length);
    chunks.push({ kind: CHUNK.contexts, plain: writeContexts(profile.blocks, first, end) });
  }
  for (const plain of recordChunks) chunks.push({ kind: CHUNK.records, plain });
  if (profile.dataAccess !== undefined) {
    chunks.push({ kind: CHUNK.dataAccess, plain: writeDataAccessChunk(profile.dataAccess) });
  }
  return joinFile(chunks, deflate);
}

function joinFile(chunks: readonly { kind: number; plain: Uint8Array }[], deflate: Deflate): Uint8Array {
  const file = new ByteWriter(1 << 12).bytes(MAGIC).u32Leb(VERSION).u32Leb(chunks.length);
  const stored = chunks.map(({ kind, plain }) => {
    const packed = deflate.pack(plain);
    const isWorth = packed.length < plain.length;
    const content = isWorth ? packed : plain;
    file.u32Leb(kind).u32Leb(isWorth ? PACKING.deflate : PACKING.none);
    file.u64Leb(content.length).u64Leb(plain.length);
    return content;
  });
  for (const content of stored) file.bytes(content);
  return file.finish();
}

function writeRecords({ records }: MemprofProfile): { places: RecordPlace[]; recordChunks: Uint8Array[] } {
  const order = [...records.guid.keys()].sort((a, b) => (records.guid[a]! < records.guid[b]! ? -1 : 1));
  const places: RecordPlace[] = [];
  const recordChunks: Uint8Array[] = [];
  let chunk = new ByteWriter(RECORD_CHUNK_BYTES);
  for (const row of order) {
    places.push({ guid: records.guid[row]!, chunk: recordChunks.length, offset: chunk.length });
    writeRecord(chunk, records, row);
    if (chunk.length >= RECORD_CHUNK_BYTES) {
      recordChunks.push(chunk.finish());
      chunk = new ByteWriter(RECORD_CHUNK_BYTES);
    }
  }
  if (chunk.length > 0) recordChunks.push(chunk.finish());
  return { places, recordChunks };
}

/** Sites stand close to each other, so that differences are small. */
function writeRecord(chunk: ByteWriter, records: MemprofProfile["records"], row: number): void {
  const { allocStart, allocStack, allocBlock, callStart, callStack, callees } = records;
  chunk.u32Leb(allocStart[row + 1]! - allocStart[row]!);
  let lastStack = 0;
  let lastBlock = 0;
  for (let site = allocStart[row]!; site < allocStart[row + 1]!; site++) {
    chunk.s64Leb(allocStack[site]! - lastStack).s64Leb(allocBlock[site]! - lastBlock);
    lastStack = allocStack[site]!;
    lastBlock = allocBlock[site]!;
  }
  chunk.u32Leb(callStart[row + 1]! - callStart[row]!);
  lastStack = 0;
  for (let site = callStart[row]!; site < callStart[row + 1]!; site++) {
    const targets = callees.get(site) ?? [];
    chunk.s64Leb(callStack[site]! - lastStack).u32Leb(targets.length);
    for (const target of targets) chunk.u64Leb(target);
    lastStack = callStack[site]!;
  }
}
