import { readS32Leb, readS64Leb } from "../../ground/bytes/leb128.ts";
import { bytesOf } from "./encode/module.ts";
import * as Op from "./op.generated.ts";
import type { ByteRange, DataSegment, WasmModule } from "./types.ts";

/** What a global of the module starts with, if that is a constant number. */
export function initialValue(module: WasmModule, global: number): number | undefined {
  const own = module.globals[global - module.importedGlobalCount];
  return own === undefined ? undefined : constantOf(module, own.initial);
}

/** Where an active segment of memory 0 begins, if that is a constant. */
export function segmentAddress(module: WasmModule, segment: DataSegment): number | undefined {
  const { mode, memory, offset } = segment;
  return mode !== "active" || memory !== 0 || offset === undefined ? undefined : constantOf(module, offset);
}

/** The number of an expression that is a constant; undefined above what a double holds. */
function constantOf(module: WasmModule, expression: ByteRange): number | undefined {
  const bytes = bytesOf(module, expression);
  if (bytes[0] === Op.I32_CONST) return readS32Leb(bytes, 1) >>> 0;
  if (bytes[0] !== Op.I64_CONST) return undefined;
  const value = Number(BigInt.asUintN(64, readS64Leb(bytes, 1)));
  return Number.isSafeInteger(value) ? value : undefined;
}
