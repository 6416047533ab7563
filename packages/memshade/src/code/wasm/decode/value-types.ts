import { FormatError } from "../../../ground/bytes/errors.ts";
import type { ByteReader } from "../../../ground/bytes/reader.ts";
import {
  ABSTRACT_HEAP_TYPES,
  type HeapType,
  isReference,
  type Limits,
  type MemoryType,
  PACKED_I8,
  PACKED_I16,
  referenceType,
  type StorageType,
  type TableType,
  type ValType,
} from "../types.ts";

const REF_NON_NULL = 0x64;
const REF_NULL = 0x63;
const LOWEST_NUMERIC = 0x7b;
const HIGHEST_NUMERIC = 0x7f;
const DEFAULT_PAGE_SIZE_LOG2 = 16;

const LIMITS_MAXIMUM = 1;
const LIMITS_SHARED = 2;
const LIMITS_INDEX64 = 4;
const LIMITS_PAGE_SIZE = 8;

export function readHeapType(reader: ByteReader): HeapType {
  const start = reader.position;
  const heapType = reader.s33Leb();
  if (heapType < 0 && ABSTRACT_HEAP_TYPES[heapType + 0x80] === undefined)
    throw new FormatError("malformed", start, "heap type", `there is no heap type ${heapType}`);
  return heapType;
}

export function readValType(reader: ByteReader): ValType {
  const start = reader.position;
  const byte = reader.u8("value type");
  if (byte >= LOWEST_NUMERIC && byte <= HIGHEST_NUMERIC) return byte;
  if (byte === REF_NON_NULL || byte === REF_NULL)
    return referenceType(readHeapType(reader), byte === REF_NULL);
  if (byte < 0x80 && isReference(byte)) return byte;
  throw new FormatError("malformed", start, "value type", `there is no value type 0x${byte.toString(16)}`);
}

export function readReferenceType(reader: ByteReader): ValType {
  const start = reader.position;
  const type = readValType(reader);
  if (!isReference(type)) throw new FormatError("malformed", start, "reference type", "it is a numeric type");
  return type;
}

export function readStorageType(reader: ByteReader): StorageType {
  const byte = reader.bytes[reader.position];
  if (reader.atEnd || (byte !== PACKED_I8 && byte !== PACKED_I16)) return readValType(reader);
  return reader.u8();
}

export function readValTypes(reader: ByteReader, construct: string): ValType[] {
  const count = reader.vectorCount(construct);
  const types: ValType[] = [];
  for (let i = 0; i < count; i++) types.push(readValType(reader));
  return types;
}

/** A byte that may be 0 or 1. */
export function readFlag(reader: ByteReader, construct: string): boolean {
  const start = reader.position;
  const byte = reader.u8(construct);
  if (byte > 1) throw new FormatError("malformed", start, construct, `the byte is ${byte}, not 0 or 1`);
  return byte === 1;
}

export function readTableType(reader: ByteReader): TableType {
  const element = readReferenceType(reader);
  return {
    element,
    ...readLimits(reader, "table limits", LIMITS_MAXIMUM | LIMITS_SHARED | LIMITS_INDEX64).limits,
  };
}

export function readMemoryType(reader: ByteReader): MemoryType {
  const { limits, flags } = readLimits(reader, "memory limits", 0xf);
  const pageSizeLog2 = (flags & LIMITS_PAGE_SIZE) !== 0 ? reader.u32Leb() : DEFAULT_PAGE_SIZE_LOG2;
  return { ...limits, pageSizeLog2 };
}

function readLimits(
  reader: ByteReader,
  construct: string,
  knownFlags: number,
): { limits: Limits; flags: number } {
  const start = reader.position;
  const flags = reader.u8(construct);
  if ((flags & ~knownFlags) !== 0)
    throw new FormatError("malformed", start, construct, `unknown flags 0x${flags.toString(16)}`);
  const index64 = (flags & LIMITS_INDEX64) !== 0;
  const minimum = readLimit(reader, index64);
  const maximum = (flags & LIMITS_MAXIMUM) !== 0 ? readLimit(reader, index64) : undefined;
  return { limits: { minimum, maximum, shared: (flags & LIMITS_SHARED) !== 0, index64 }, flags };
}

function readLimit(reader: ByteReader, index64: boolean): number {
  if (!index64) return reader.u32Leb();
  const value = reader.u64Leb();
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(value);
}
