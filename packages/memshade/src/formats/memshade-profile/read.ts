import { FormatError } from "../../bytes/errors.ts";
import { BlockTable, type MemprofBlocks, type MemprofProfile } from "../../model/memprof/index.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";
import { readContexts, readSchema, type StoredSchema } from "./contexts.ts";
import { readDataAccessChunk } from "./data-access-chunk.ts";
import { CHUNK, CONTEXTS_PER_CHUNK, type Deflate, MAGIC, PACKING, VERSION } from "./layout.ts";
import { pakoDeflate } from "./pako-deflate.ts";
import { readTables, type StoredTables } from "./tables.ts";
import { VarintReader } from "./varint-reader.ts";
import type { ProfileOrigin } from "./write.ts";

/** DEFLATE expands at most 1032-fold. */
const MOST_EXPANSION = 1032;

/** Whether the bytes begin like a memshade profile. */
export function isMemshadeProfile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, index) => bytes[index] === byte);
}

/** Alloc sites and call sites of one function. Stacks and blocks are numbers in the profile's tables. */
export interface FunctionRecord {
  readonly guid: bigint;
  readonly allocSites: readonly { readonly stack: number; readonly block: number }[];
  readonly callSites: readonly { readonly stack: number; readonly callees: readonly bigint[] }[];
}

/** A memshade profile whose records and blocks are unpacked when they are asked for. */
export class MemshadeProfile {
  readonly origin: ProfileOrigin;
  private readonly chunks: readonly Chunk[];
  private readonly schema: StoredSchema;
  private readonly tables: StoredTables;
  private readonly deflate: Deflate;

  /** @throws FormatError of kind bad-magic, unsupported-version or malformed */
  constructor(bytes: Uint8Array, deflate: Deflate = pakoDeflate) {
    this.deflate = deflate;
    this.chunks = readDirectory(bytes);
    const tables = this.chunks.find(({ kind }) => kind === CHUNK.tables);
    if (tables === undefined) throw new FormatError("malformed", 8, "memshade profile", "it has no tables");
    const reader = this.open(tables, "tables");
    this.schema = readSchema(reader);
    this.tables = readTables(reader);
    this.origin = this.tables.origin;
    const contextChunks = this.chunksOf(CHUNK.contexts).length;
    if (contextChunks !== Math.ceil(this.schema.contexts / CONTEXTS_PER_CHUNK)) {
      throw new FormatError(
        "malformed",
        8,
        "memshade profile",
        `${contextChunks} chunks of contexts for ${this.schema.contexts} contexts`,
      );
    }
  }

  get functions(): bigint[] {
    return this.tables.places.map(({ guid }) => guid);
  }

  get frames(): MemprofProfile["frames"] {
    return this.tables.frames;
  }

  get stacks(): MemprofProfile["stacks"] {
    return this.tables.stacks;
  }

  /** The record of one function: unpacks the chunk that it stands in, and no other. */
  record(guid: bigint): FunctionRecord | undefined {
    const { places } = this.tables;
    let low = 0;
    let high = places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (places[middle]!.guid < guid) low = middle + 1;
      else high = middle;
    }
    const place = places[low];
    if (place?.guid !== guid) return undefined;
    const chunk = this.chunksOf(CHUNK.records)[place.chunk];
    if (chunk === undefined)
      throw new FormatError("malformed", 8, "memshade profile", "a record is not there");
    const reader = this.open(chunk, "records");
    reader.take(Math.min(place.offset, reader.remaining));
    return this.readRecord(reader, guid);
  }

  /** Everything. */
  whole(): MemprofProfile {
    const { frames, stacks } = this.tables;
    const records = this.tables.places.map(({ guid }) => guid);
    const all = this.allRecords();
    const allocs = all.reduce((sum, { allocSites }) => sum + allocSites.length, 0);
    const calls = all.reduce((sum, { callSites }) => sum + callSites.length, 0);
    const result = {
      length: all.length,
      guid: BigUint64Array.from(records),
      allocStart: new Uint32Array(all.length + 1),
      allocStack: new Uint32Array(allocs),
      allocBlock: new Uint32Array(allocs),
      callStart: new Uint32Array(all.length + 1),
      callStack: new Uint32Array(calls),
      callees: new Map<number, readonly bigint[]>(),
    };
    let alloc = 0;
    let call = 0;
    for (const [row, { allocSites, callSites }] of all.entries()) {
      for (const { stack, block } of allocSites) {
        result.allocStack[alloc] = stack;
        result.allocBlock[alloc++] = block;
      }
      for (const { stack, callees } of callSites) {
        if (callees.length > 0) result.callees.set(call, callees);
        result.callStack[call++] = stack;
      }
      result.allocStart[row + 1] = alloc;
      result.callStart[row + 1] = call;
    }
    const [dataAccess] = this.chunksOf(CHUNK.dataAccess);
    return {
      frames,
      stacks,
      blocks: this.readBlocks(),
      records: result,
      dataAccess: dataAccess && readDataAccessChunk(this.open(dataAccess, "data accesses")),
    };
  }

  private allRecords(): FunctionRecord[] {
    let current = -1;
    let reader: VarintReader | undefined;
    const chunks = this.chunksOf(CHUNK.records);
    return this.tables.places.map(({ guid, chunk, offset }) => {
      if (chunk !== current || reader === undefined) {
        const found = chunks[chunk];
        // Records stand in ascending order: a chunk that comes again would be unpacked again and again.
        if (found === undefined || chunk < current) {
          throw new FormatError("malformed", 8, "memshade profile", "a record is out of place");
        }
        reader = this.open(found, "records");
        current = chunk;
      }
      if (offset !== reader.position) throw reader.error("a record is out of place");
      return this.readRecord(reader, guid);
    });
  }

  private readRecord(reader: VarintReader, guid: bigint): FunctionRecord {
    let lastStack = 0;
    let lastBlock = 0;
    const near = (last: number, limit: number, what: string) => {
      const value = last + reader.signed(what);
      if (value < 0 || value >= limit) throw reader.error(`${what} ${value} of ${limit}`);
      return value;
    };
    const allocSites = Array.from({ length: reader.count(2, "alloc sites") }, () => {
      lastStack = near(lastStack, this.stacks.length, "stack");
      lastBlock = near(lastBlock, this.schema.contexts, "context");
      return { stack: lastStack, block: lastBlock };
    });
    lastStack = 0;
    const callSites = Array.from({ length: reader.count(2, "call sites") }, () => {
      lastStack = near(lastStack, this.stacks.length, "stack");
      const callees = Array.from({ length: reader.count(1, "callees") }, () => reader.wide());
      return { stack: lastStack, callees };
    });
    return { guid, allocSites, callSites };
  }

  private readBlocks(): MemprofBlocks {
    const { contexts, columns } = this.schema;
    const tags = new Set(columns.map(({ tag }) => tag));
    const hasHistograms = columns.some(({ encoding }) => encoding === 2);
    const fields = MIB_FIELDS.filter(
      ({ tag, name }) => tags.has(tag) || (hasHistograms && name.startsWith("accessHistogram")),
    );
    const blocks = new BlockTable(fields);
    const histograms = new Map<number, BigUint64Array>();
    for (const [index, chunk] of this.chunksOf(CHUNK.contexts).entries()) {
      const first = index * CONTEXTS_PER_CHUNK;
      const count = Math.min(CONTEXTS_PER_CHUNK, contexts - first);
      const reader = this.open(chunk, "contexts");
      if (count > reader.remaining && columns.length > 0)
        throw reader.error("the contexts are not all there");
      const read = readContexts(reader, columns, count);
      for (let row = 0; row < count; row++) {
        const block = blocks.addRow();
        const histogram = read.histograms.get(row);
        if (histogram !== undefined) histograms.set(block, histogram);
        for (const [field, { tag, name }] of fields.entries()) {
          const value =
            name === "accessHistogramSize" ? (histogram?.length ?? 0) : (read.values.get(tag)?.[row] ?? 0n);
          blocks.setNumber(field, block, value);
        }
      }
    }
    return blocks.build(histograms);
  }

  private chunksOf(kind: number): Chunk[] {
    return this.chunks.filter((chunk) => chunk.kind === kind);
  }

  private open({ bytes, packing, plainBytes, offset }: Chunk, what: string): VarintReader {
    const construct = `memshade profile, ${what}`;
    const damaged = (detail: string) => new FormatError("malformed", offset, construct, detail);
    if (packing === PACKING.none) return new VarintReader(bytes, offset, construct);
    if (packing !== PACKING.deflate) throw damaged(`packing ${packing} is not known`);
    if (plainBytes > bytes.length * MOST_EXPANSION + 64)
      throw damaged(`it cannot be ${plainBytes} bytes long`);
    try {
      return new VarintReader(this.deflate.unpack(bytes, plainBytes), offset, construct);
    } catch {
      throw damaged("it cannot be unpacked");
    }
  }
}

interface Chunk {
  readonly kind: number;
  readonly packing: number;
  readonly plainBytes: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

function readDirectory(bytes: Uint8Array): Chunk[] {
  if (!isMemshadeProfile(bytes)) {
    throw new FormatError("bad-magic", 0, "memshade profile", "not a memshade profile (bad magic)");
  }
  const reader = new VarintReader(bytes, 0, "memshade profile");
  reader.position = MAGIC.length;
  const version = reader.number("version");
  if (version !== VERSION) {
    throw new FormatError(
      "unsupported-version",
      MAGIC.length,
      "memshade profile",
      `version ${version} is not supported (supported: ${VERSION})`,
    );
  }
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
