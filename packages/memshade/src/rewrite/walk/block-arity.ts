import { readS33Leb } from "../../bytes/leb128.ts";
import type { WasmModule } from "../../wasm/index.ts";

const EMPTY = -64;

/** Parameter count × 65,536 + result count of the block type at `pos`. */
export function blockArity(module: WasmModule, pos: number): number {
  const byte = module.bytes[pos];
  if (byte === 0x40) return 0;
  // Every other single byte with bit 6 set, and the two-byte reference types, is one result.
  const index = byte < 0x40 ? byte : readS33Leb(module.bytes, pos);
  if (index < 0) return index === EMPTY ? 0 : 1;
  const type = module.types[index];
  return type?.kind === "func" ? type.params.length * 0x10000 + type.results.length : 0;
}
