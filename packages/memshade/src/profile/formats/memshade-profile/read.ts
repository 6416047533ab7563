import { FormatError } from "../../../ground/bytes/errors.ts";
import {
  Column,
  type MemprofBlocks,
  type MemprofProfile,
  type MemprofRecords,
} from "../../model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { readDataAccessChunk } from "./data-access-chunk.ts";
import { CHUNK, CONTEXTS_PER_CHUNK, type Deflate, ENCODING, MAGIC, PACKING, VERSION } from "./layout.ts";
import { pakoDeflate } from "./pako-deflate.ts";
import { readContexts, readSchema, readTables, type StoredSchema, type StoredTables } from "./tables.ts";
import type { ProfileOrigin } from "./types.ts";
import { VarintReader } from "./varint-reader.ts";

/** Bound on the expansion of DEFLATE, which is at most 1032-fold. */
const MOST_EXPANSION = 1032;

/** Memshade profile whose records and blocks are unpacked on demand. */
export class MemshadeProfile {
  readonly origin: ProfileOrigin;
  readonly #chunks: readonly Chunk[];
  readonly #schema: StoredSchema;
  readonly #tables: StoredTables;
  readonly #deflate: Deflate;

  constructor(bytes: Uint8Array, deflate: Deflate = pakoDeflate) {
    this.#deflate = deflate;
    this.#chunks = readDirectory(bytes);
    const tables = this.#chunks.find(({ kind }) => kind === CHUNK.tables);
    if (tables === undefined) throw new FormatError("malformed", 8, "memshade profile", "it has no tables");
    const reader = this.#open(tables, "tables");
    this.#schema = readSchema(reader);
    this.#tables = readTables(reader);
    this.origin = this.#tables.origin;
    const contextChunks = this.#chunksOf(CHUNK.contexts).length;
    if (contextChunks !== Math.ceil(this.#schema.contexts / CONTEXTS_PER_CHUNK))
      throw new FormatError(
        "malformed",
        8,
        "memshade profile",
        `${contextChunks} chunks of contexts for ${this.#schema.contexts} contexts`,
      );
  }

  get stacks(): MemprofProfile["stacks"] {
    return this.#tables.stacks;
  }

  whole(): MemprofProfile {
    const { contexts, fields } = this;
    return { ...this.outline(), blocks: joinBlocks(contexts, fields, this.blocks()) };
  }

  outline(): Omit<MemprofProfile, "blocks"> {
    const { frames, stacks } = this.#tables;
    const [dataAccess] = this.#chunksOf(CHUNK.dataAccess);
    return {
      frames,
      stacks,
      records: this.#allRecords(),
      dataAccess: dataAccess && readDataAccessChunk(this.#open(dataAccess, "data accesses")),
    };
  }

  get contexts(): number {
    return this.#schema.contexts;
  }

  get fields(): readonly MibField[] {
    const { columns } = this.#schema;
    const tags = new Set(columns.map(({ tag }) => tag));
    const hasHistograms = columns.some(({ encoding }) => encoding === ENCODING.list);
    return MIB_FIELDS.filter(
      ({ tag, name }) => tags.has(tag) || (hasHistograms && name.startsWith("accessHistogram")),
    );
  }

  *blocks(): Generator<MemprofBlocks, void, undefined> {
    const { contexts, columns } = this.#schema;
    const { fields } = this;
    for (const [index, chunk] of this.#chunksOf(CHUNK.contexts).entries()) {
      const count = Math.min(CONTEXTS_PER_CHUNK, contexts - index * CONTEXTS_PER_CHUNK);
      const reader = this.#open(chunk, "contexts");
      if (count > reader.remaining && columns.length > 0)
        throw reader.error("the contexts are not all there");
      yield readContexts(reader, columns, count, fields);
    }
  }

  #allRecords(): MemprofRecords {
    const { places } = this.#tables;
    const chunks = this.#chunksOf(CHUNK.records);
    const builder = new RecordColumns(places.length);
    let current = -1;
    let reader: VarintReader | undefined;
    for (const { guid, chunk, offset } of places) {
      if (chunk !== current || reader === undefined) {
        const found = chunks[chunk];
        // Records are stored in ascending order. Returning to an earlier chunk would unpack it repeatedly.
        if (found === undefined || chunk < current)
          throw new FormatError("malformed", 8, "memshade profile", "a record is out of place");
        reader = this.#open(found, "records");
        current = chunk;
      }
      if (offset !== reader.position) throw reader.error("a record is out of place");
      this.#readRecord(reader, builder);
      builder.endRecord(guid);
    }
    return builder.build();
  }

  #readRecord(reader: VarintReader, sites: SiteReceiver): void {
    let lastStack = 0;
    let lastBlock = 0;
    const near = (last: number, limit: number, label: string) => {
      const value = last + reader.signed(label);
      if (value < 0 || value >= limit) throw reader.error(`${label} ${value} of ${limit}`);
      return value;
    };
    for (let remaining = reader.count(2, "alloc sites"); remaining > 0; remaining--) {
      lastStack = near(lastStack, this.stacks.length, "stack");
      lastBlock = near(lastBlock, this.#schema.contexts, "context");
      sites.addAllocSite(lastStack, lastBlock);
    }
    lastStack = 0;
    for (let remaining = reader.count(2, "call sites"); remaining > 0; remaining--) {
      lastStack = near(lastStack, this.stacks.length, "stack");
      const callees = Array.from({ length: reader.count(1, "callees") }, () => reader.wide());
      sites.addCallSite(lastStack, callees);
    }
  }

  #chunksOf(kind: number): Chunk[] {
    return this.#chunks.filter((chunk) => chunk.kind === kind);
  }

  #open({ bytes, packing, plainBytes, offset }: Chunk, label: string): VarintReader {
    const construct = `memshade profile, ${label}`;
    const damaged = (detail: string) => new FormatError("malformed", offset, construct, detail);
    if (packing === PACKING.none) return new VarintReader(bytes, offset, construct);
    if (packing !== PACKING.deflate) throw damaged(`packing ${packing} is not known`);
    if (plainBytes > bytes.length * MOST_EXPANSION + 64)
      throw damaged(`it cannot be ${plainBytes} bytes long`);
    try {
      return new VarintReader(this.#deflate.unpack(bytes, plainBytes), offset, construct);
    } catch {
      throw damaged("it cannot be unpacked");
    }
  }
}

export function isMemshadeProfile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, index) => bytes[index] === byte);
}

interface Chunk {
  readonly kind: number;
  readonly packing: number;
  readonly plainBytes: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

function readDirectory(bytes: Uint8Array): Chunk[] {
  if (!isMemshadeProfile(bytes))
    throw new FormatError("bad-magic", 0, "memshade profile", "not a memshade profile (bad magic)");
  const reader = new VarintReader(bytes, 0, "memshade profile");
  reader.position = MAGIC.length;
  const version = reader.number("version");
  if (version !== VERSION)
    throw new FormatError(
      "unsupported-version",
      MAGIC.length,
      "memshade profile",
      `version ${version} is not supported (supported: ${VERSION})`,
    );
  const entries = Array.from({ length: reader.count(4, "chunks") }, () => ({
    kind: reader.number("kind"),
    packing: reader.number("packing"),
    storedBytes: reader.number("size"),
    plainBytes: reader.number("size"),
  }));
  return entries.map(({ storedBytes, ...entry }) => {
    const offset = reader.position;
    return { ...entry, offset, bytes: reader.take(storedBytes) };
  });
}

interface SiteReceiver {
  addAllocSite(stack: number, block: number): void;
  addCallSite(stack: number, callees: readonly bigint[]): void;
}

class RecordColumns implements SiteReceiver {
  readonly #guid: BigUint64Array;
  readonly #allocStart: Uint32Array;
  readonly #callStart: Uint32Array;
  readonly #callees = new Map<number, readonly bigint[]>();
  readonly #allocStack = new Column();
  readonly #allocBlock = new Column();
  readonly #callStack = new Column();
  #count = 0;
  #allocs = 0;
  #calls = 0;

  constructor(length: number) {
    this.#guid = new BigUint64Array(length);
    this.#allocStart = new Uint32Array(length + 1);
    this.#callStart = new Uint32Array(length + 1);
  }

  addAllocSite(stack: number, block: number): void {
    this.#allocStack.set(this.#allocs, stack);
    this.#allocBlock.set(this.#allocs++, block);
  }

  addCallSite(stack: number, callees: readonly bigint[]): void {
    if (callees.length > 0) this.#callees.set(this.#calls, callees);
    this.#callStack.set(this.#calls++, stack);
  }

  /** Ends the record whose sites were added since the last call. */
  endRecord(guid: bigint): void {
    this.#guid[this.#count++] = guid;
    this.#allocStart[this.#count] = this.#allocs;
    this.#callStart[this.#count] = this.#calls;
  }

  build(): MemprofRecords {
    const guid = this.#guid;
    const allocStart = this.#allocStart;
    const callStart = this.#callStart;
    const callees = this.#callees;
    return {
      length: this.#count,
      guid,
      allocStart,
      allocStack: arrayOf(this.#allocStack, this.#allocs),
      allocBlock: arrayOf(this.#allocBlock, this.#allocs),
      callStart,
      callStack: arrayOf(this.#callStack, this.#calls),
      callees,
    };
  }
}

function arrayOf(column: Column, length: number): Uint32Array {
  const array = new Uint32Array(length);
  for (let row = 0; row < length; row++) array[row] = column.get(row);
  column.release();
  return array;
}

function joinBlocks(
  length: number,
  fields: readonly MibField[],
  pieces: Iterable<MemprofBlocks>,
): MemprofBlocks {
  const columns = fields.map(({ bytes }) =>
    bytes === 4 ? new Uint32Array(length) : new BigUint64Array(length),
  );
  const histograms = new Map<number, BigUint64Array>();
  let first = 0;
  for (const piece of pieces) {
    for (const [index, column] of piece.columns.entries()) {
      // The type of a column follows from its field.
      (columns[index] as Uint32Array).set(column as Uint32Array, first);
    }
    for (const [block, histogram] of piece.histograms) histograms.set(first + block, histogram);
    first += piece.length;
  }
  return { length, fields, columns, histograms };
}
