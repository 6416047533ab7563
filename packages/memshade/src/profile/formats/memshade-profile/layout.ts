import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";

/** First bytes of a file: 0x89 "mshade" newline. */
export const MAGIC = Uint8Array.of(0x89, 0x6d, 0x73, 0x68, 0x61, 0x64, 0x65, 0x0a);
export const VERSION = 1;

/** What a chunk holds. Readers skip kinds that they do not know. */
export const CHUNK = { tables: 1, contexts: 2, records: 3, dataAccess: 4 } as const;

/** How a chunk is packed. */
export const PACKING = { none: 0, deflate: 1 } as const;

/** How the values of a column of blocks are stored. Each is a LEB128 integer, or a list of them after its length. */
export const ENCODING = {
  /** The value. */
  plain: 0,
  /** Signed (zigzag): the difference to the mean, a total divided by AllocCount and rounded down. */
  fromMean: 1,
  /** A list: its length, then its values. */
  list: 2,
} as const;

/** The tag of the histogram's values: MemProf's schema has none, as it does not store them. */
export const HISTOGRAM_TAG = 1000;

/** Contexts per chunk. */
export const CONTEXTS_PER_CHUNK = 4096;
/** Records are collected until a chunk has so many bytes. */
export const RECORD_CHUNK_BYTES = 1 << 16;

/** Chunks that are larger are packed in pieces of this size. */
export const PIECE_BYTES = 1 << 18;

/** Minima and maxima lie close to the mean of these totals. */
const TOTALS: Readonly<Record<string, MibField["name"]>> = {
  AccessCount: "totalAccessCount",
  Size: "totalSize",
  Lifetime: "totalLifetime",
  AccessDensity: "totalAccessDensity",
  LifetimeAccessDensity: "totalLifetimeAccessDensity",
};

/** The total whose mean a field is stored against, if any. */
export function totalOf({ name }: MibField): MibField | undefined {
  const measure = /^m(?:in|ax)(.*)$/.exec(name)?.[1];
  const total = measure === undefined ? undefined : TOTALS[measure];
  return MIB_FIELDS.find((field) => field.name === total);
}

/** A reader's or writer's way to unpack and pack raw DEFLATE data. */
export interface Deflate {
  /** Packs pieces, each of which is valid until the next one is asked for, into one stream. */
  pack(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined>;
  /** @throws anything, if the bytes are damaged or do not unpack to `sizeBytes` */
  unpack(bytes: Uint8Array, sizeBytes: number): Uint8Array;
}
