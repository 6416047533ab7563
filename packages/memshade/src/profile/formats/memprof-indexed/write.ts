import {
  type DataAccessProfile,
  type MemprofProfile,
  type MemprofSummary,
  type StackTreeView,
  summarize,
  viewOf,
} from "../../model/memprof/index.ts";
import { type Chunks, ChunkWriter } from "./chunk-writer.ts";
import { writeDataAccess } from "./data-access.ts";
import { planTable } from "./hash-table.ts";
import {
  containerHeaderBytes,
  FRAME_BYTES,
  HAS_MEMPROF,
  MAGIC,
  MEMPROF_SUMMARY_FIELDS,
  SUMMARY_BYTES,
  SUMMARY_CUTOFFS,
  SUMMARY_FIELDS,
} from "./layout.ts";
import { type LinearProfile, linearize } from "./linear-profile.ts";
import { RecordLayout } from "./record-layout.ts";
import {
  recordBuckets,
  type SectionPlan,
  type WriteIndexedOptions,
  writeFrame,
  writeKey,
  writeSchema,
  writeTable,
} from "./section-parts.ts";
import { planVersion2 } from "./version2.ts";

/** What stands in version 4 beside the records. */
export interface Version4Extras {
  readonly dataAccess: DataAccessProfile | undefined;
  summary(): MemprofSummary;
}

/** An indexed profile, in pieces, so that it need not be in memory as a whole. */
export function writeIndexed(profile: MemprofProfile, options: WriteIndexedOptions): Chunks {
  if (options.version === 2) return writeVersion2(viewOf(profile), options);
  const extras = { dataAccess: profile.dataAccess, summary: () => summarize(profile) };
  return writeLinear(linearize(profile), extras, options);
}

/** An indexed profile of version 2. */
export function writeVersion2(profile: StackTreeView, options: WriteIndexedOptions): Chunks {
  return writeContainer((start) => planVersion2(profile, options, start), options);
}

/** An indexed profile of version 3 or 4, of stacks that are laid out already. */
export function writeLinear(
  profile: LinearProfile,
  extras: Version4Extras,
  options: WriteIndexedOptions,
): Chunks {
  return writeContainer((start) => planVersion3Or4(profile, extras, options, start), options);
}

function* writeContainer(plan: (start: number) => SectionPlan, options: WriteIndexedOptions): Chunks {
  const writer = new ChunkWriter();
  const header = containerHeaderBytes(options.container);
  const functionTable = header + SUMMARY_BYTES;
  const memprof = functionTable + 24;
  const section = plan(memprof);
  const containerVersion = HAS_MEMPROF | BigInt(options.container);
  writer.bytes(MAGIC).u64s(containerVersion, 0, 0, functionTable, memprof);
  if (options.container >= 9) writer.u64s(section.end);
  if (options.container >= 10) writer.u64s(0);
  if (options.container >= 12) writer.u64s(section.end + 8);
  writer.u64s(SUMMARY_FIELDS, SUMMARY_CUTOFFS.length, 0, 0, 0, 0, 0, 0);
  for (const cutoff of SUMMARY_CUTOFFS) writer.u64s(cutoff, 0, 0);
  writer.u64s(1, 0, 0);
  yield* section.write(writer);
  if (options.container >= 9) writer.u64s(0);
  if (options.container >= 12) writer.u64s(0);
  yield* writer.finish();
}

function planVersion3Or4(
  profile: LinearProfile,
  extras: Version4Extras,
  options: WriteIndexedOptions,
  start: number,
): SectionPlan {
  const { version, schema } = options;
  const { frames, frameOrder } = profile;
  const fields = schema.map((field) => profile.field(field));
  const records = new RecordLayout(profile.records, fields, schema, version);
  const headerBytes = version === 3 ? 32 : 40 + 4 + 8 * MEMPROF_SUMMARY_FIELDS;
  const framesAt = start + headerBytes + 8 + 8 * schema.length;
  const arrayAt = framesAt + FRAME_BYTES * frameOrder.length;
  const recordsAt = arrayAt + 4 * profile.elements;
  const table = planTable(
    recordsAt,
    recordBuckets(profile.records, options),
    (row) => 32 + records.bytesOf(row),
  );
  const dataAccess =
    version === 4 && extras.dataAccess !== undefined ? writeDataAccess(extras.dataAccess) : new Uint8Array(0);
  function* write(writer: ChunkWriter): Chunks {
    writer.u64s(version, arrayAt, recordsAt, table.bucketTable);
    if (version === 4) {
      const summary = extras.summary();
      writer.u64s(dataAccess.length === 0 ? 0 : table.end);
      writer.u32(MEMPROF_SUMMARY_FIELDS);
      writer.u64s(summary.contexts, summary.coldContexts, summary.hotContexts);
      writer.u64s(summary.maxColdTotalSize, summary.maxWarmTotalSize, summary.maxHotTotalSize);
    }
    writeSchema(writer, schema);
    for (const frame of frameOrder) {
      writeFrame(writer, frames, frame);
      if (writer.isFull) yield* writer.take();
    }
    yield* profile.writeElements(writer);
    yield* writeTable(writer, table, profile.records.length, (row) => {
      writeKey(writer, profile.records.guid[row]!, true, records.bytesOf(row));
      return records.write(writer, row, profile.putPositions);
    });
    writer.bytes(dataAccess);
  }
  return { end: table.end + dataAccess.length, write };
}
