import { writeU32Leb } from "../../../ground/bytes/leb128.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import * as Op from "../op.generated.ts";
import { PREFIX_BASE } from "../opcodes.ts";
import { F64, I32, I64, type ValType } from "../types.ts";

function prefixOf(id: number): number {
  return id < 0x200 ? 0xfc : id < 0x400 ? 0xfd : id < 0x500 ? 0xfe : 0xfb;
}

export function writeOpcode(writer: ByteWriter, id: number): void {
  if (id < 0x100) {
    writer.u8(id);
    return;
  }
  const prefix = prefixOf(id);
  writer.u8(prefix).u32Leb(id - PREFIX_BASE[prefix]);
}

/** Writes an opcode like `writeOpcode`, into bytes with room for it at `at`; returns the offset after it. */
export function writeOpcodeInto(bytes: Uint8Array, at: number, id: number): number {
  if (id < 0x100) {
    bytes[at] = id;
    return at + 1;
  }
  const prefix = prefixOf(id);
  bytes[at] = prefix;
  return writeU32Leb(bytes, at + 1, id - PREFIX_BASE[prefix]);
}

/**
 * Returns a constant expression of one numeric constant, with its `end`; for i64 the value may be a bigint.
 */
export function encodeConstantExpression(type: ValType, value: number | bigint): Uint8Array {
  const writer = new ByteWriter(16);
  if (type === I32) writer.u8(Op.I32_CONST).s32Leb(Number(value));
  else if (type === I64) writer.u8(Op.I64_CONST).s64Leb(value);
  else if (type === F64) writer.u8(Op.F64_CONST).f64(Number(value));
  else writer.u8(Op.F32_CONST).f32(Number(value));
  return writer.u8(Op.END).finish();
}
