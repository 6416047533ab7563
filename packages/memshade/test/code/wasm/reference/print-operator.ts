import { ImmediateKind } from "../../../../src/code/wasm/immediates.ts";
import * as Op from "../../../../src/code/wasm/op.generated.ts";
import { opcodeId } from "../../../../src/code/wasm/opcodes.ts";
import {
  formatHeapType,
  formatType,
  heapTypeOf,
  isNullable,
  type ValType,
} from "../../../../src/code/wasm/types.ts";
import type { BlockType, Immediates, Memarg, Operator } from "./operators.ts";

const REF_TEST_NULL = opcodeId("ref.test null");
const REF_CAST_NULL = opcodeId("ref.cast null");

function printTypes(keyword: string, types: readonly ValType[]): string {
  return types.length === 0 ? "" : ` (${keyword} ${types.map(formatType).join(" ")})`;
}

/** One instruction in the style of the text format, without its offset. */
export function printOperator({ id, name, immediates }: Operator): string {
  if (immediates.kind === ImmediateKind.RefHeapType)
    return printReferenceOperator(id, name, immediates.heapType);
  return `${name}${printImmediates(immediates)}`;
}

function printReferenceOperator(id: number, name: string, heapType: number): string {
  const target = formatHeapType(heapType);
  if (id === Op.REF_TEST || id === Op.REF_CAST) return `${name} (ref ${target})`;
  if (id === REF_TEST_NULL || id === REF_CAST_NULL)
    return `${name.replace(" null", "")} (ref null ${target})`;
  return `${name} ${target}`;
}

function printImmediates(immediates: Immediates): string {
  switch (immediates.kind) {
    case ImmediateKind.None:
    case ImmediateKind.Zero:
      return "";
    case ImmediateKind.BlockType:
      return printBlockType(immediates.blockType);
    case ImmediateKind.LabelTable:
      return ` ${[...immediates.labels, immediates.defaultLabel].join(" ")}`;
    case ImmediateKind.Memarg:
      return printMemarg(immediates.memarg);
    case ImmediateKind.MemargLane:
      return `${printMemarg(immediates.memarg)} ${immediates.lane}`;
    case ImmediateKind.Lane:
      return ` ${immediates.lane}`;
    case ImmediateKind.Shuffle:
      return ` ${immediates.lanes.join(" ")}`;
    case ImmediateKind.I32:
    case ImmediateKind.I64:
      return ` ${immediates.value}`;
    case ImmediateKind.F32:
      return ` ${printFloat(viewOf(immediates.bytes).getFloat32(0, true), immediates.bytes)}`;
    case ImmediateKind.F64:
      return ` ${printFloat(viewOf(immediates.bytes).getFloat64(0, true), immediates.bytes)}`;
    case ImmediateKind.V128:
      return ` i8x16 ${Array.from(immediates.bytes, (byte) => `0x${hexByte(byte)}`).join(" ")}`;
    case ImmediateKind.ValTypes:
      return printTypes("result", immediates.types);
    case ImmediateKind.RefHeapType:
      return ` ${formatHeapType(immediates.heapType)}`;
    case ImmediateKind.TryTable: {
      const clauses = immediates.catches.map((clause) => {
        const tag = "tag" in clause ? `${clause.tag} ` : "";
        return ` (${clause.kind} ${tag}${clause.label})`;
      });
      return printBlockType(immediates.blockType) + clauses.join("");
    }
    case ImmediateKind.BrOnCast:
      return ` ${immediates.label} ${printReference(immediates.source)} ${printReference(immediates.target)}`;
    case ImmediateKind.CallIndirect:
      return ` ${immediates.second} (type ${immediates.first})`;
    case ImmediateKind.DataMemory:
    case ImmediateKind.ElemTable:
      return ` ${immediates.second} ${immediates.first}`;
    default:
      return "index" in immediates ? ` ${immediates.index}` : ` ${immediates.first} ${immediates.second}`;
  }
}

function printBlockType(blockType: BlockType): string {
  if (blockType.kind === "empty") return "";
  return blockType.kind === "value"
    ? ` (result ${formatType(blockType.type)})`
    : ` (type ${blockType.index})`;
}

function printMemarg({ align, memory, offset }: Memarg): string {
  const parts = [memory === 0 ? "" : ` ${memory}`, offset === 0n ? "" : ` offset=${offset}`];
  return `${parts.join("")} align=${2 ** align}`;
}

function printReference(type: ValType): string {
  return `(ref ${isNullable(type) ? "null " : ""}${formatHeapType(heapTypeOf(type))})`;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function printFloat(value: number, bytes: Uint8Array): string {
  if (Number.isNaN(value)) return `nan:0x${Array.from(bytes, hexByte).reverse().join("")}`;
  if (Object.is(value, -0)) return "-0";
  return String(value).replace("Infinity", "inf");
}

function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
