import {
  readS32Leb,
  readS33Leb,
  readS64Leb,
  readU32Leb,
  readU64Leb,
  skipLeb32,
} from "../../ground/bytes/leb128.ts";
import { viewOf } from "../../ground/bytes/numbers.ts";
import { ByteReader } from "../../ground/bytes/reader.ts";
import { readValType } from "./decode.ts";
import { ImmediateKind } from "./immediates.ts";
import { MEMARG_HAS_MEMORY } from "./memarg.ts";
import { IMMEDIATE_KIND, OPCODE_NAME } from "./opcodes.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "./skip.ts";
import { formatType } from "./types.ts";

/** Block type without a value. */
const EMPTY = -64;

/**
 * Prints the instruction at `position` in the text format, such as `i32.store offset=4`. Rare immediates are
 * printed in hexadecimal.
 *
 * @param nameOf returns the name of a function by its index
 * @throws FormatError if there is no instruction
 */
export function printInstruction(
  bytes: Uint8Array,
  position: number,
  nameOf: (index: number) => string,
): { readonly text: string; readonly end: number } {
  const id = opcodeIdAt(bytes, position);
  const at = skipOpcode(bytes, position);
  const kind = IMMEDIATE_KIND[id];
  const end = skipImmediates(bytes, at, kind);
  const operands =
    kind === ImmediateKind.Func ? nameOf(readU32Leb(bytes, at)) : printed(bytes, at, end, kind);
  return { text: `${OPCODE_NAME[id]}${operands === "" ? "" : ` ${operands}`}`, end };
}

function printed(bytes: Uint8Array, at: number, end: number, kind: number): string {
  switch (kind) {
    case ImmediateKind.None:
    case ImmediateKind.Zero:
      return "";
    case ImmediateKind.BlockType:
      return blockType(bytes, at);
    case ImmediateKind.I32:
      return `${readS32Leb(bytes, at)}`;
    case ImmediateKind.I64:
      return `${readS64Leb(bytes, at)}`;
    case ImmediateKind.F32:
      return `${viewOf(bytes).getFloat32(at, true)}`;
    case ImmediateKind.F64:
      return `${viewOf(bytes).getFloat64(at, true)}`;
    case ImmediateKind.Label:
    case ImmediateKind.Type:
    case ImmediateKind.Local:
    case ImmediateKind.Global:
    case ImmediateKind.Table:
    case ImmediateKind.Elem:
    case ImmediateKind.Tag:
    case ImmediateKind.Delegate:
    case ImmediateKind.Rethrow:
      return `${readU32Leb(bytes, at)}`;
    case ImmediateKind.LabelTable:
      return numbers(bytes, skipLeb32(bytes, at), end);
    case ImmediateKind.CallIndirect:
      return `(type ${readU32Leb(bytes, at)})`;
    case ImmediateKind.Memory:
    case ImmediateKind.TwoMemories:
      return numbers(bytes, at, end).replace(/^0(?: 0)?$/, "");
    case ImmediateKind.Memarg:
    case ImmediateKind.MemargLane:
      return memarg(bytes, at) + (kind === ImmediateKind.MemargLane ? ` ${bytes[end - 1]}` : "");
    case ImmediateKind.Lane:
      return `${bytes[at]}`;
    default:
      return `0x${[...bytes.subarray(at, end)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  }
}

function blockType(bytes: Uint8Array, at: number): string {
  const type = readS33Leb(bytes, at);
  if (type === EMPTY) return "";
  return type >= 0 ? `(type ${type})` : `(result ${formatType(readValType(new ByteReader(bytes, at)))})`;
}

function memarg(bytes: Uint8Array, at: number): string {
  const flags = readU32Leb(bytes, at);
  let next = skipLeb32(bytes, at);
  const parts: string[] = [];
  if ((flags & MEMARG_HAS_MEMORY) !== 0) {
    parts.push(`${readU32Leb(bytes, next)}`);
    next = skipLeb32(bytes, next);
  }
  const offset = readU64Leb(bytes, next);
  if (offset !== 0n) parts.push(`offset=${offset}`);
  return parts.join(" ");
}

function numbers(bytes: Uint8Array, from: number, end: number): string {
  const values: number[] = [];
  for (let at = from; at < end; at = skipLeb32(bytes, at)) values.push(readU32Leb(bytes, at));
  return values.join(" ");
}
