import {
  heapTypeOf,
  ImmediateKind,
  isNullable,
  type ValType,
  writeHeapType,
  writeOpcode,
  writeType,
} from "../../../../src/code/wasm/index.ts";
import type { ByteWriter } from "../../../../src/ground/bytes/writer.ts";
import { type BlockType, CATCH_KINDS, type CatchClause, type Immediates, type Memarg } from "./operators.ts";
import { writeTypes } from "./reencode.ts";

/** Writes a decoded instruction, all integers in their shortest encoding. */
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

function writeMemarg(writer: ByteWriter, memarg: Memarg): void {
  if (memarg.memory === 0) writer.u32Leb(memarg.align);
  else writer.u32Leb(memarg.align | 0x40).u32Leb(memarg.memory);
  writer.u64Leb(memarg.offset);
}
