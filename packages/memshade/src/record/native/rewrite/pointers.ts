import { DW_EH_PE } from "../../../code/unwind/index.ts";
import type { ByteWriter } from "../../../ground/bytes/writer.ts";

/** Bytes of a pointer of an encoding that can be written again; undefined: it cannot. */
export function pointerBytes(encoding: number): 4 | 8 | undefined {
  if (encoding === DW_EH_PE.omit) return undefined;
  const relative = encoding & 0x70;
  if (relative !== 0 && relative !== DW_EH_PE.pcrel) return undefined;
  switch (encoding & 0x0f) {
    case DW_EH_PE.sdata4:
    case DW_EH_PE.udata4:
      return 4;
    case DW_EH_PE.absptr:
    case DW_EH_PE.sdata8:
    case DW_EH_PE.udata8:
      return 8;
    default:
      return undefined;
  }
}

/** A pointer to `value`, which may be relative to where it stands: `address` is that of the writer's first byte. */
export function writePointer(out: ByteWriter, encoding: number, value: number, address: number): void {
  const isRelative = (encoding & 0x70) === DW_EH_PE.pcrel;
  const stored = BigInt(isRelative ? value - (address + out.length) : value);
  out.u32(Number(BigInt.asIntN(32, stored)));
  if (pointerBytes(encoding) === 8) out.u32(Number(BigInt.asIntN(32, stored >> 32n)));
}
