import { readU32Leb, skipLeb32 } from "../../bytes/leb128.ts";
import {
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../wasm/index.ts";

/** Immediates that say what code does, not where other things are: they stay when a program is linked anew. */
const STAYS = new Set<number>([
  ImmediateKind.Label,
  ImmediateKind.LabelTable,
  ImmediateKind.Local,
  ImmediateKind.Lane,
  ImmediateKind.Shuffle,
]);
/** Displacements below this are fields of structs; above it they may be addresses of static data. */
const LOWEST_ADDRESS = 1024;
const MOST_BYTES_32 = 5;

/** FNV-1a's offset basis and prime for 32 bits. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * A number for what a defined function does: its instructions with labels, locals, lanes and small displacements, without
 * constants and the numbers of functions, types, globals and tables, which change where other parts of the program do.
 */
export function functionShape({ bytes, bodies }: WasmModule, defined: number): number {
  const { codeStart, end } = bodies[defined];
  let hash = BASIS;
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const kind = IMMEDIATE_KIND[op];
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, kind);
    hash = Math.imul(hash ^ op, PRIME);
    if (STAYS.has(kind)) {
      for (let at = immediates; at < next; at++) hash = Math.imul(hash ^ bytes[at], PRIME);
    } else if (kind === ImmediateKind.Memarg) {
      const at = skipLeb32(bytes, immediates);
      // Where a memory is named, its index is what is read here.
      const displacement = next - at > MOST_BYTES_32 ? LOWEST_ADDRESS : readU32Leb(bytes, at);
      if (displacement < LOWEST_ADDRESS) hash = Math.imul(hash ^ displacement, PRIME);
    }
    pos = next;
  }
  return hash >>> 0;
}

/** Offsets of a defined function's instructions in the code section's payload. */
export function instructionOffsets(
  { bytes, bodies, codePayloadStart }: WasmModule,
  defined: number,
): number[] {
  const { codeStart, end } = bodies[defined];
  const offsets: number[] = [];
  for (let pos = codeStart; pos < end; ) {
    offsets.push(pos - codePayloadStart);
    pos = skipImmediates(bytes, skipOpcode(bytes, pos), IMMEDIATE_KIND[opcodeIdAt(bytes, pos)]);
  }
  return offsets;
}
