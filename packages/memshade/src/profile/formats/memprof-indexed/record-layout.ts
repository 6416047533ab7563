import type { BlockWords, MemprofRecords } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";
import type { MemprofVersion } from "./layout.ts";

const SITES_AT_ONCE = 512;

/** Puts what a version stores for stacks, as the records name them, at every `step`-th place of an array. */
export type PutStacks = (stacks: Uint32Array, into: Uint32Array, first: number, step: number) => void;

/** The data of records: alloc sites with their blocks, then call sites. */
export class RecordLayout {
  readonly #records: MemprofRecords;
  readonly #version: MemprofVersion;
  readonly #columns: readonly { bytes: number; values: BlockWords | undefined }[];
  readonly #blockBytes: number;
  readonly #stackBytes: number;
  /** Alloc sites to be written. */
  readonly #words: Uint32Array;

  /** @param fields of the blocks, for each entry of the schema; those that are not known are written as 0 */
  constructor(
    records: MemprofRecords,
    fields: readonly (BlockWords | undefined)[],
    schema: readonly MibField[],
    version: MemprofVersion,
  ) {
    this.#records = records;
    this.#version = version;
    this.#columns = schema.map(({ name, bytes }, index) => ({
      bytes,
      // The histogram's address means nothing outside of the process that had it.
      values: name === "accessHistogram" ? undefined : fields[index],
    }));
    this.#blockBytes = schema.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#stackBytes = version === 2 ? 8 : 4;
    // Fields that are not known stay 0.
    this.#words = new Uint32Array((SITES_AT_ONCE * (this.#stackBytes + this.#blockBytes)) / 4);
  }

  bytesOf(row: number): number {
    const { allocStart, callStart, callees } = this.#records;
    const allocs = allocStart[row + 1]! - allocStart[row]!;
    const calls = callStart[row + 1]! - callStart[row]!;
    let bytes = 16 + allocs * (this.#stackBytes + this.#blockBytes) + calls * this.#stackBytes;
    if (this.#version === 4) {
      bytes += 8 * calls;
      for (let site = callStart[row]!; callees.size > 0 && site < callStart[row + 1]!; site++)
        bytes += 8 * (callees.get(site)?.length ?? 0);
    }
    return bytes;
  }

  /** Hands pieces on while it writes: the record of a busy function may be most of the file. */
  *write(writer: ChunkWriter, row: number, putStacks: PutStacks): Chunks {
    const { allocStart, callStart, callStack, callees } = this.#records;
    writer.u64s(allocStart[row + 1]! - allocStart[row]!);
    for (let site = allocStart[row]!; site < allocStart[row + 1]!; site += SITES_AT_ONCE) {
      this.#writeSites(writer, site, Math.min(site + SITES_AT_ONCE, allocStart[row + 1]!), putStacks);
      if (writer.isFull) yield* writer.take();
    }
    writer.u64s(callStart[row + 1]! - callStart[row]!);
    const stackWords = this.#stackBytes / 4;
    for (let site = callStart[row]!; site < callStart[row + 1]!; site++) {
      putStacks(callStack.subarray(site, site + 1), this.#words, 0, stackWords);
      writer.words(this.#words.subarray(0, stackWords));
      if (this.#version === 4) {
        const targets = callees.get(site) ?? [];
        writer.u64s(targets.length, ...targets);
      }
      if (writer.isFull) yield* writer.take();
    }
  }

  /** Column by column: the rows of blocks lie far apart in each, and reading many at once does not wait for each. */
  #writeSites(writer: ChunkWriter, start: number, end: number, putStacks: PutStacks): void {
    const { allocStack, allocBlock } = this.#records;
    const words = this.#words;
    const siteWords = (this.#stackBytes + this.#blockBytes) / 4;
    putStacks(allocStack.subarray(start, end), words, 0, siteWords);
    const blocks = allocBlock.subarray(start, end);
    let at = this.#stackBytes / 4;
    for (const { bytes, values } of this.#columns) {
      values?.gather(blocks, words, at, siteWords);
      at += bytes / 4;
    }
    writer.words(words.subarray(0, (end - start) * siteWords));
  }
}
