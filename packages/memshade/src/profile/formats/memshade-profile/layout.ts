import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";

/** First bytes of a file: 0x89 "mshade" newline. */
export const MAGIC = Uint8Array.of(0x89, 0x6d, 0x73, 0x68, 0x61, 0x64, 0x65, 0x0a);
export const VERSION = 1;

/** Kinds of chunks. Readers skip unknown kinds. */
export const CHUNK = { tables: 1, contexts: 2, records: 3, dataAccess: 4 } as const;

export const PACKING = { none: 0, deflate: 1 } as const;

/** Encodings of a column of block values. A value is a LEB128 integer, or a list of them after its length. */
export const ENCODING = {
  plain: 0,
  /** Signed (zigzag) difference to the mean, which is a total divided by AllocCount and rounded down. */
  fromMean: 1,
  list: 2,
} as const;

/** Tag of the histogram's values: MemProf's schema has none, because it does not store them. */
export const HISTOGRAM_TAG = 1000;

export const CONTEXTS_PER_CHUNK = 4096;
/** Chunk size that ends the collection of records. */
export const RECORD_CHUNK_BYTES = 1 << 16;

/** Larger chunks are packed in pieces of this size. */
export const PIECE_BYTES = 1 << 18;

/** Totals whose mean is close to the minima and maxima. */
const TOTALS: Readonly<Record<string, MibField["name"]>> = {
  AccessCount: "totalAccessCount",
  Size: "totalSize",
  Lifetime: "totalLifetime",
  AccessDensity: "totalAccessDensity",
  LifetimeAccessDensity: "totalLifetimeAccessDensity",
};

export function totalOf({ name }: MibField): MibField | undefined {
  const measure = /^m(?:in|ax)(.*)$/.exec(name)?.[1];
  const total = measure === undefined ? undefined : TOTALS[measure];
  return MIB_FIELDS.find((field) => field.name === total);
}

/** Functions of a reader or writer that pack and unpack raw DEFLATE data. */
export interface Deflate {
  /** Packs pieces into one stream. Each piece is valid until the next one is requested. */
  pack(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined>;
  /** @throws anything, if the bytes are damaged or do not unpack to `sizeBytes` */
  unpack(bytes: Uint8Array, sizeBytes: number): Uint8Array;
}
