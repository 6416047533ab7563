import type { ByteWriter } from "../../../ground/bytes/writer.ts";
import {
  type GlobalType,
  type HeapType,
  heapTypeOf,
  isNullable,
  type Limits,
  type MemoryType,
  type StorageType,
  type TableType,
} from "../types.ts";

const REF_NON_NULL = 0x64;
const REF_NULL = 0x63;
const FIRST_WIDE_TYPE = 0x100;
const DEFAULT_PAGE_SIZE_LOG2 = 16;

export function writeHeapType(writer: ByteWriter, heapType: HeapType): void {
  writer.s33Leb(heapType);
}

export function writeType(writer: ByteWriter, type: StorageType): void {
  if (type < FIRST_WIDE_TYPE) {
    writer.u8(type);
    return;
  }
  writer.u8(isNullable(type) ? REF_NULL : REF_NON_NULL);
  writeHeapType(writer, heapTypeOf(type));
}

export function writeTableType(writer: ByteWriter, table: TableType): void {
  writeType(writer, table.element);
  writer.u8(limitFlags(table));
  writeLimits(writer, table);
}

export function writeMemoryType(writer: ByteWriter, memory: MemoryType): void {
  const customPages = memory.pageSizeLog2 !== DEFAULT_PAGE_SIZE_LOG2;
  writer.u8(limitFlags(memory) | (customPages ? 8 : 0));
  writeLimits(writer, memory);
  if (customPages) writer.u32Leb(memory.pageSizeLog2);
}

function limitFlags(limits: Limits): number {
  return (limits.maximum === undefined ? 0 : 1) | (limits.shared ? 2 : 0) | (limits.index64 ? 4 : 0);
}

function writeLimits(writer: ByteWriter, limits: Limits): void {
  writeLimit(writer, limits.minimum, limits.index64);
  if (limits.maximum !== undefined) writeLimit(writer, limits.maximum, limits.index64);
}

function writeLimit(writer: ByteWriter, value: number, index64: boolean): void {
  if (!index64) writer.u32Leb(value);
  else writer.u64Leb(value > Number.MAX_SAFE_INTEGER ? 0xffffffffffffffffn : value);
}

export function writeGlobalType(writer: ByteWriter, global: GlobalType): void {
  writeType(writer, global.type);
  writer.u8(global.mutable ? 1 : 0);
}
