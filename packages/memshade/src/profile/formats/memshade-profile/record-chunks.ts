import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { PIECE_BYTES, RECORD_CHUNK_BYTES } from "./layout.ts";

export interface RecordPlace {
  readonly guid: bigint;
  /** Number of the record chunk, and offset in it. */
  readonly chunk: number;
  readonly offset: number;
}

export interface RecordSource {
  readonly guids: ArrayLike<bigint>;
  /** Writes a record. Yields whenever the writer holds enough to be passed on. */
  write(writer: ByteWriter, row: number): Iterable<void>;
}

/**
 * Records of a profile, in chunks. The layout is computed first, so that positions are known before anything is
 * written.
 */
export class RecordChunks {
  readonly #source: RecordSource;
  readonly #order: Uint32Array;
  /** First index in `#order` of each chunk, then the length of `#order`. */
  readonly #starts: number[] = [0];
  readonly #offsets: Float64Array;

  constructor(source: RecordSource) {
    const { guids } = source;
    this.#source = source;
    this.#order = Uint32Array.from({ length: guids.length }, (_, row) => row);
    this.#order.sort((a, b) => (guids[a]! < guids[b]! ? -1 : 1));
    this.#offsets = new Float64Array(this.#order.length);
    const scratch = new ByteWriter(1 << 12);
    let offset = 0;
    for (const [place, row] of this.#order.entries()) {
      this.#offsets[place] = offset;
      for (const _ of source.write(scratch, row)) {
        offset += scratch.length;
        scratch.clear();
      }
      offset += scratch.length;
      scratch.clear();
      if (offset < RECORD_CHUNK_BYTES) continue;
      this.#starts.push(place + 1);
      offset = 0;
    }
    if (offset > 0) this.#starts.push(this.#order.length);
  }

  get chunkCount(): number {
    return this.#starts.length - 1;
  }

  /** Yields the positions of the records, ascending by GUID. */
  *places(): Generator<RecordPlace, void, undefined> {
    const { guids } = this.#source;
    for (let chunk = 0; chunk < this.chunkCount; chunk++)
      for (let place = this.#starts[chunk]!; place < this.#starts[chunk + 1]!; place++)
        yield { guid: guids[this.#order[place]!]!, chunk, offset: this.#offsets[place]! };
  }

  *write(writer: ByteWriter, chunk: number): Generator<void, void, undefined> {
    for (let place = this.#starts[chunk]!; place < this.#starts[chunk + 1]!; place++)
      yield* this.#source.write(writer, this.#order[place]!);
  }
}

export interface StoredCallSite {
  readonly stack: number;
  readonly callees: readonly bigint[];
}

export function* writeCallSites(
  writer: ByteWriter,
  sites: readonly StoredCallSite[],
): Generator<void, void, undefined> {
  writer.u32Leb(sites.length);
  let last = 0;
  for (const { stack, callees } of sites) {
    writer.s64Leb(stack - last).u32Leb(callees.length);
    for (const callee of callees) writer.u64Leb(callee);
    last = stack;
    if (writer.length >= PIECE_BYTES) yield;
  }
}
