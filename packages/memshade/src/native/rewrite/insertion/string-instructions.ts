import type { Code } from "../code.ts";

const PREFIXES = new Set([0x66, 0xf2, 0xf3, 0x48, 0x67]);
/** `movs`, `cmps`, `stos`, `lods`, `scas`. */
const OPCODES = new Set([0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf]);

/** Whether an instruction is one that reaches what rsi and rdi point to. */
export function isStringInstruction({ bytes, offsets, lengths }: Code, i: number): boolean {
  const length = lengths[i];
  const start = offsets[i];
  if (length > 5 || !OPCODES.has(bytes[start + length - 1])) return false;
  for (let at = start; at < start + length - 1; at++) if (!PREFIXES.has(bytes[at])) return false;
  return true;
}
