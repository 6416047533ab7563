import type { Assembler, Register } from "../../x64/index.ts";
import { fitsInt32 } from "../code.ts";

/** Gives a register all 64 bits of a number. With `keepFlags` no instruction is taken that changes them. */
export function loadConstant(asm: Assembler, to: Register, value: bigint, keepFlags = false): void {
  const bits = BigInt.asUintN(64, value);
  if (bits === 0n && !keepFlags) asm.put("xor", 4, to, to);
  else if (bits < 2n ** 32n) asm.put("mov", 4, to, Number(bits));
  else if (fitsInt32(BigInt.asIntN(64, value))) asm.put("mov", 8, to, Number(BigInt.asIntN(64, value)));
  else asm.put("movabs", 8, to, bits);
}
