// Decodes instructions into objects, unlike the source, which steps over them. Tests compare the two.

import { readHeapType, readValType, readValTypes } from "../../../../src/code/wasm/decode.ts";
import { ImmediateKind } from "../../../../src/code/wasm/immediates.ts";
import { checkMemargFlags, MEMARG_HAS_MEMORY, unsupportedOrder } from "../../../../src/code/wasm/memarg.ts";
import * as Op from "../../../../src/code/wasm/op.generated.ts";
import { IMMEDIATE_KIND, OPCODE_NAME } from "../../../../src/code/wasm/opcodes.ts";
import { opcodeIdAt, skipOpcode } from "../../../../src/code/wasm/skip.ts";
import {
  type FunctionBody,
  type HeapType,
  referenceType,
  type ValType,
  type WasmModule,
} from "../../../../src/code/wasm/types.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { readS64Leb, skipLeb64 } from "../../../../src/ground/bytes/leb128.ts";
import { ByteReader } from "../../../../src/ground/bytes/reader.ts";

export interface Memarg {
  /** log2 of the alignment in bytes */
  align: number;
  memory: number;
  offset: bigint;
}

type Kind<Name extends keyof typeof ImmediateKind> = (typeof ImmediateKind)[Name];

type IndexKind = Kind<
  | "Label"
  | "Func"
  | "Type"
  | "Local"
  | "Global"
  | "Table"
  | "Elem"
  | "Memory"
  | "Data"
  | "Tag"
  | "Delegate"
  | "Rethrow"
>;

type IndexPairKind = Kind<
  | "CallIndirect"
  | "TwoTables"
  | "ElemTable"
  | "TwoMemories"
  | "DataMemory"
  | "TypeField"
  | "TypeN"
  | "TypeData"
  | "TypeElem"
  | "TwoTypes"
>;

/** Type of a block: empty, one result, or the function type at an index. */
export type BlockType =
  | { kind: "empty" }
  | { kind: "value"; type: ValType }
  | { kind: "type"; index: number };

export type CatchClause =
  | { kind: "catch" | "catch_ref"; tag: number; label: number }
  | { kind: "catch_all" | "catch_all_ref"; label: number };

/** Catch clauses in the order of their byte. */
export const CATCH_KINDS: readonly CatchClause["kind"][] = [
  "catch",
  "catch_ref",
  "catch_all",
  "catch_all_ref",
];

/** Immediates in decoded form. The two indices of a pair are in the order of the binary format. */
export type Immediates =
  | { kind: Kind<"None" | "Zero"> }
  | { kind: IndexKind; index: number }
  | { kind: IndexPairKind; first: number; second: number }
  | { kind: Kind<"BlockType">; blockType: BlockType }
  | { kind: Kind<"LabelTable">; labels: number[]; defaultLabel: number }
  | { kind: Kind<"Memarg">; memarg: Memarg }
  | { kind: Kind<"MemargLane">; memarg: Memarg; lane: number }
  | { kind: Kind<"Lane">; lane: number }
  | { kind: Kind<"Shuffle">; lanes: number[] }
  | { kind: Kind<"I32">; value: number }
  | { kind: Kind<"I64">; value: bigint }
  /** little-endian bytes, so that NaN payloads are preserved */
  | { kind: Kind<"F32" | "F64" | "V128">; bytes: Uint8Array }
  | { kind: Kind<"ValTypes">; types: ValType[] }
  | { kind: Kind<"RefHeapType">; heapType: HeapType }
  | { kind: Kind<"TryTable">; blockType: BlockType; catches: CatchClause[] }
  | { kind: Kind<"BrOnCast">; label: number; source: ValType; target: ValType };

export interface Operator {
  offset: number;
  end: number;
  id: number;
  name: string;
  immediates: Immediates;
}

/** Instructions of a function body. Throws `FormatError`, also for a body that does not finish with `end`. */
export function* iterateOperators(module: WasmModule, body: FunctionBody): Generator<Operator> {
  let last: Operator | undefined;
  for (last of iterateInstructions(module.bytes, body.codeStart, body.end)) yield last;
  if (last?.id !== Op.END)
    throw new FormatError("malformed", body.end - 1, "function body", "it does not finish with `end`");
}

/** Instructions in `bytes[start, end)`, for instance of a constant expression. */
export function* iterateInstructions(bytes: Uint8Array, start: number, end: number): Generator<Operator> {
  let offset = start;
  while (offset < end) {
    const id = opcodeIdAt(bytes, offset);
    const reader = new ByteReader(bytes, skipOpcode(bytes, offset), end);
    const immediates = readImmediates(reader, IMMEDIATE_KIND[id] as ImmediateKind);
    yield { offset, end: reader.position, id, name: OPCODE_NAME[id] as string, immediates };
    offset = reader.position;
  }
}

export function readImmediates(reader: ByteReader, kind: ImmediateKind): Immediates {
  switch (kind) {
    case ImmediateKind.None:
      return { kind };
    case ImmediateKind.Zero:
      readZero(reader);
      return { kind };
    case ImmediateKind.Label:
    case ImmediateKind.Func:
    case ImmediateKind.Type:
    case ImmediateKind.Local:
    case ImmediateKind.Global:
    case ImmediateKind.Table:
    case ImmediateKind.Elem:
    case ImmediateKind.Memory:
    case ImmediateKind.Data:
    case ImmediateKind.Tag:
    case ImmediateKind.Delegate:
    case ImmediateKind.Rethrow:
      return { kind, index: reader.u32Leb() };
    case ImmediateKind.CallIndirect:
    case ImmediateKind.TwoTables:
    case ImmediateKind.ElemTable:
    case ImmediateKind.TwoMemories:
    case ImmediateKind.DataMemory:
    case ImmediateKind.TypeField:
    case ImmediateKind.TypeN:
    case ImmediateKind.TypeData:
    case ImmediateKind.TypeElem:
    case ImmediateKind.TwoTypes:
      return { kind, first: reader.u32Leb(), second: reader.u32Leb() };
    case ImmediateKind.BlockType:
      return { kind, blockType: readBlockType(reader) };
    case ImmediateKind.LabelTable:
      return { kind, labels: readLabels(reader), defaultLabel: reader.u32Leb() };
    case ImmediateKind.Memarg:
      return { kind, memarg: readMemarg(reader) };
    case ImmediateKind.MemargLane:
      return { kind, memarg: readMemarg(reader), lane: reader.u8("lane") };
    case ImmediateKind.Lane:
      return { kind, lane: reader.u8("lane") };
    case ImmediateKind.Shuffle:
      return { kind, lanes: [...reader.view(16, "lanes")] };
    case ImmediateKind.I32:
      return { kind, value: reader.s32Leb() };
    case ImmediateKind.I64:
      return { kind, value: readI64(reader) };
    case ImmediateKind.F32:
      return { kind, bytes: reader.view(4, "constant") };
    case ImmediateKind.F64:
      return { kind, bytes: reader.view(8, "constant") };
    case ImmediateKind.V128:
      return { kind, bytes: reader.view(16, "constant") };
    case ImmediateKind.ValTypes:
      return { kind, types: readValTypes(reader, "operand types") };
    case ImmediateKind.RefHeapType:
      return { kind, heapType: readHeapType(reader) };
    case ImmediateKind.TryTable:
      return { kind, blockType: readBlockType(reader), catches: readCatches(reader) };
    case ImmediateKind.BrOnCast:
      return { kind, ...readCast(reader) };
  }
}

const BLOCK_EMPTY = 0x40;

function readBlockType(reader: ByteReader): BlockType {
  const byte = reader.bytes[reader.position];
  if (reader.atEnd || byte >= 0x80 || byte < BLOCK_EMPTY)
    return { kind: "type", index: readTypeIndex(reader) };
  if (byte !== BLOCK_EMPTY) return { kind: "value", type: readValType(reader) };
  reader.skip(1);
  return { kind: "empty" };
}

function readTypeIndex(reader: ByteReader): number {
  const start = reader.position;
  const index = reader.s33Leb();
  if (index < 0) throw new FormatError("malformed", start, "block type", `there is no block type ${index}`);
  return index;
}

function readLabels(reader: ByteReader): number[] {
  const count = reader.vectorCount("labels");
  const labels: number[] = [];
  for (let i = 0; i < count; i++) labels.push(reader.u32Leb());
  return labels;
}

function readMemarg(reader: ByteReader): Memarg {
  const start = reader.position;
  const flags = reader.u32Leb();
  checkMemargFlags(flags, start);
  const memory = (flags & MEMARG_HAS_MEMORY) !== 0 ? reader.u32Leb() : 0;
  return { align: flags & ~MEMARG_HAS_MEMORY, memory, offset: reader.u64Leb() };
}

function readCatches(reader: ByteReader): CatchClause[] {
  const count = reader.vectorCount("catch clauses", 2);
  const catches: CatchClause[] = [];
  for (let i = 0; i < count; i++) {
    const start = reader.position;
    const kind = CATCH_KINDS[reader.u8("catch clause")];
    if (kind === undefined)
      throw new FormatError("malformed", start, "catch clause", "there is no such kind");
    if (kind === "catch" || kind === "catch_ref")
      catches.push({ kind, tag: reader.u32Leb(), label: reader.u32Leb() });
    else catches.push({ kind, label: reader.u32Leb() });
  }
  return catches;
}

function readCast(reader: ByteReader): { label: number; source: ValType; target: ValType } {
  const start = reader.position;
  const flags = reader.u8("cast flags");
  if (flags > 3) throw new FormatError("malformed", start, "cast flags", `unknown flags ${flags}`);
  const label = reader.u32Leb();
  const source = referenceType(readHeapType(reader), (flags & 1) !== 0);
  const target = referenceType(readHeapType(reader), (flags & 2) !== 0);
  return { label, source, target };
}

function readZero(reader: ByteReader): void {
  const start = reader.position;
  if (reader.u8("reserved byte") !== 0) throw unsupportedOrder(start, "reserved byte");
}

function readI64(reader: ByteReader): bigint {
  const value = readS64Leb(reader.bytes, reader.position);
  reader.skip(skipLeb64(reader.bytes, reader.position) - reader.position);
  return value;
}
