import type { BlockWords, MemprofRecords } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";
import type { MemprofVersion } from "./layout.ts";

/** The data of records: alloc sites with their blocks, then call sites. */
export class RecordLayout {
  private readonly records: MemprofRecords;
  private readonly version: MemprofVersion;
  private readonly columns: readonly { bytes: number; values: BlockWords | undefined }[];
  private readonly blockBytes: number;
  private readonly stackBytes: number;

  /** @param fields of the blocks, for each entry of the schema; those that are not known are written as 0 */
  constructor(
    records: MemprofRecords,
    fields: readonly (BlockWords | undefined)[],
    schema: readonly MibField[],
    version: MemprofVersion,
  ) {
    this.records = records;
    this.version = version;
    this.columns = schema.map(({ name, bytes }, index) => ({
      bytes,
      // The histogram's address means nothing outside of the process that had it.
      values: name === "accessHistogram" ? undefined : fields[index],
    }));
    this.blockBytes = schema.reduce((sum, { bytes }) => sum + bytes, 0);
    this.stackBytes = version === 2 ? 8 : 4;
  }

  bytesOf(row: number): number {
    const { allocStart, callStart, callees } = this.records;
    const allocs = allocStart[row + 1]! - allocStart[row]!;
    const calls = callStart[row + 1]! - callStart[row]!;
    let bytes = 16 + allocs * (this.stackBytes + this.blockBytes) + calls * this.stackBytes;
    if (this.version === 4) {
      bytes += 8 * calls;
      for (let site = callStart[row]!; callees.size > 0 && site < callStart[row + 1]!; site++) {
        bytes += 8 * (callees.get(site)?.length ?? 0);
      }
    }
    return bytes;
  }

  /** Hands pieces on while it writes: the record of a busy function may be most of the file. */
  *write(writer: ChunkWriter, row: number, writeStack: (stack: number) => void): Chunks {
    const { allocStart, allocStack, allocBlock, callStart, callStack, callees } = this.records;
    writer.u64s(allocStart[row + 1]! - allocStart[row]!);
    for (let site = allocStart[row]!; site < allocStart[row + 1]!; site++) {
      writeStack(allocStack[site]!);
      const block = allocBlock[site]!;
      for (const { bytes, values } of this.columns) {
        writer.u32(values === undefined ? 0 : values.low(block));
        if (bytes === 8) writer.u32(values === undefined ? 0 : values.high(block));
      }
      if (writer.isFull) yield* writer.take();
    }
    writer.u64s(callStart[row + 1]! - callStart[row]!);
    for (let site = callStart[row]!; site < callStart[row + 1]!; site++) {
      writeStack(callStack[site]!);
      if (this.version === 4) {
        const targets = callees.get(site) ?? [];
        writer.u64s(targets.length, ...targets);
      }
      if (writer.isFull) yield* writer.take();
    }
  }
}
