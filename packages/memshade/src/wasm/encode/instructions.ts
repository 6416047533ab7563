import { writeU32Leb } from "../../bytes/leb128.ts";
import { ByteWriter } from "../../bytes/writer.ts";
import { ImmediateKind } from "../immediates.ts";
import * as Op from "../op.generated.ts";
import { PREFIX_BASE } from "../opcodes.ts";
import { type BlockType, CATCH_KINDS, type CatchClause, type Immediates, type Memarg } from "../operators.ts";
import { F64, heapTypeOf, I32, I64, isNullable, type ValType } from "../types.ts";
import { writeHeapType, writeType, writeTypes } from "./types.ts";

/** Writes the opcode with this id: a byte, or a prefix byte and a number. */
export function writeOpcode(writer: ByteWriter, id: number): void {
  if (id < 0x100) {
    writer.u8(id);
    return;
  }
  const prefix = id < 0x200 ? 0xfc : id < 0x400 ? 0xfd : id < 0x500 ? 0xfe : 0xfb;
  writer.u8(prefix).u32Leb(id - PREFIX_BASE[prefix]);
}

/** As `writeOpcode` into bytes with room for it at `at`; the offset behind it. */
export function writeOpcodeInto(bytes: Uint8Array, at: number, id: number): number {
  if (id < 0x100) {
    bytes[at] = id;
    return at + 1;
  }
  const prefix = id < 0x200 ? 0xfc : id < 0x400 ? 0xfd : id < 0x500 ? 0xfe : 0xfb;
  bytes[at] = prefix;
  return writeU32Leb(bytes, at + 1, id - PREFIX_BASE[prefix]);
}

/** Writes an instruction from its decoded form, all integers in their shortest encoding. */
export function writeInstruction(writer: ByteWriter, id: number, immediates: Immediates): void {
  writeOpcode(writer, id);
  writeImmediates(writer, immediates);
}

function writeImmediates(writer: ByteWriter, immediates: Immediates): void {
  switch (immediates.kind) {
    case ImmediateKind.None:
      return;
    case ImmediateKind.Zero:
      writer.u8(0);
      return;
    case ImmediateKind.BlockType:
      writeBlockType(writer, immediates.blockType);
      return;
    case ImmediateKind.LabelTable:
      writer.u32Leb(immediates.labels.length);
      for (const label of immediates.labels) writer.u32Leb(label);
      writer.u32Leb(immediates.defaultLabel);
      return;
    case ImmediateKind.Memarg:
      writeMemarg(writer, immediates.memarg);
      return;
    case ImmediateKind.MemargLane:
      writeMemarg(writer, immediates.memarg);
      writer.u8(immediates.lane);
      return;
    case ImmediateKind.Lane:
      writer.u8(immediates.lane);
      return;
    case ImmediateKind.Shuffle:
      writer.bytes(immediates.lanes);
      return;
    case ImmediateKind.I32:
      writer.s32Leb(immediates.value);
      return;
    case ImmediateKind.I64:
      writer.s64Leb(immediates.value);
      return;
    case ImmediateKind.F32:
    case ImmediateKind.F64:
    case ImmediateKind.V128:
      writer.bytes(immediates.bytes);
      return;
    case ImmediateKind.ValTypes:
      writeTypes(writer, immediates.types);
      return;
    case ImmediateKind.RefHeapType:
      writeHeapType(writer, immediates.heapType);
      return;
    case ImmediateKind.TryTable:
      writeBlockType(writer, immediates.blockType);
      writer.u32Leb(immediates.catches.length);
      for (const clause of immediates.catches) writeCatch(writer, clause);
      return;
    case ImmediateKind.BrOnCast:
      writeCast(writer, immediates.label, immediates.source, immediates.target);
      return;
    default:
      if ("index" in immediates) writer.u32Leb(immediates.index);
      else writer.u32Leb(immediates.first).u32Leb(immediates.second);
  }
}

function writeBlockType(writer: ByteWriter, blockType: BlockType): void {
  if (blockType.kind === "empty") writer.u8(0x40);
  else if (blockType.kind === "value") writeType(writer, blockType.type);
  else writer.s33Leb(blockType.index);
}

/** Writes a memarg; the memory index is written only if it is not 0. */
export function writeMemarg(writer: ByteWriter, memarg: Memarg): void {
  if (memarg.memory === 0) writer.u32Leb(memarg.align);
  else writer.u32Leb(memarg.align | 0x40).u32Leb(memarg.memory);
  writer.u64Leb(memarg.offset);
}

function writeCatch(writer: ByteWriter, clause: CatchClause): void {
  writer.u8(CATCH_KINDS.indexOf(clause.kind));
  if (clause.kind === "catch" || clause.kind === "catch_ref") writer.u32Leb(clause.tag);
  writer.u32Leb(clause.label);
}

function writeCast(writer: ByteWriter, label: number, source: ValType, target: ValType): void {
  writer.u8((isNullable(source) ? 1 : 0) | (isNullable(target) ? 2 : 0)).u32Leb(label);
  writeHeapType(writer, heapTypeOf(source));
  writeHeapType(writer, heapTypeOf(target));
}

/** Constant expression of one numeric constant, with its `end`; for i64 the value may be a bigint. */
export function encodeConstantExpression(type: ValType, value: number | bigint): Uint8Array {
  const writer = new ByteWriter(16);
  if (type === I32) writer.u8(Op.I32_CONST).s32Leb(Number(value));
  else if (type === I64) writer.u8(Op.I64_CONST).s64Leb(value);
  else if (type === F64) writer.u8(Op.F64_CONST).f64(Number(value));
  else writer.u8(Op.F32_CONST).f32(Number(value));
  return writer.u8(Op.END).finish();
}
