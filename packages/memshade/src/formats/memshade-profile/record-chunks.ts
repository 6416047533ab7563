import { ByteWriter } from "../../bytes/writer.ts";
import type { StackTreeView } from "../../model/memprof/index.ts";
import { PIECE_BYTES, RECORD_CHUNK_BYTES } from "./layout.ts";

/** Where the record of a function stands. */
export interface RecordPlace {
  readonly guid: bigint;
  /** Number of the record chunk, and offset in it. */
  readonly chunk: number;
  readonly offset: number;
}

/** The records of a profile, in chunks. They are laid out first, so that their places are known before they are written. */
export class RecordChunks {
  private readonly profile: StackTreeView;
  /** Rows, ascending by GUID. */
  private readonly order: Uint32Array;
  /** Where the chunks begin in `order`, and its length. */
  private readonly starts: number[] = [0];
  /** By place in `order`: offset in the chunk. */
  private readonly offsets: Float64Array;

  constructor(profile: StackTreeView) {
    const { guid } = profile.records;
    this.profile = profile;
    this.order = Uint32Array.from(guid.keys()).sort((a, b) => (guid[a]! < guid[b]! ? -1 : 1));
    this.offsets = new Float64Array(this.order.length);
    const scratch = new ByteWriter(1 << 12);
    let offset = 0;
    for (const [place, row] of this.order.entries()) {
      this.offsets[place] = offset;
      for (const _ of this.writeRecord(scratch, row)) {
        offset += scratch.length;
        scratch.clear();
      }
      offset += scratch.length;
      scratch.clear();
      if (offset < RECORD_CHUNK_BYTES) continue;
      this.starts.push(place + 1);
      offset = 0;
    }
    if (offset > 0) this.starts.push(this.order.length);
  }

  get chunkCount(): number {
    return this.starts.length - 1;
  }

  /** Where the records stand, ascending by GUID. */
  *places(): Generator<RecordPlace, void, undefined> {
    const { guid } = this.profile.records;
    for (let chunk = 0; chunk < this.chunkCount; chunk++) {
      for (let place = this.starts[chunk]!; place < this.starts[chunk + 1]!; place++) {
        yield { guid: guid[this.order[place]!]!, chunk, offset: this.offsets[place]! };
      }
    }
  }

  /** Stops whenever the writer holds enough to be handed on. */
  *write(writer: ByteWriter, chunk: number): Generator<void, void, undefined> {
    for (let place = this.starts[chunk]!; place < this.starts[chunk + 1]!; place++) {
      yield* this.writeRecord(writer, this.order[place]!);
    }
  }

  /** Sites stand close to each other, so that differences are small. */
  private *writeRecord(writer: ByteWriter, row: number): Generator<void, void, undefined> {
    const { profile } = this;
    const { allocStart, allocStack, allocBlock, callStart, callStack, callees } = profile.records;
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
    writer.u32Leb(callStart[row + 1]! - callStart[row]!);
    lastStack = 0;
    for (let site = callStart[row]!; site < callStart[row + 1]!; site++) {
      const targets = callees.get(site) ?? [];
      const stack = profile.numberOf(callStack[site]!);
      writer.s64Leb(stack - lastStack).u32Leb(targets.length);
      for (const target of targets) writer.u64Leb(target);
      lastStack = stack;
      if (writer.length >= PIECE_BYTES) yield;
    }
  }
}
