import { decode, FLOW, Instruction } from "../../../../code/x64/decode/index.ts";
import { RSP } from "../../../../code/x64/index.ts";
import { int32At } from "../../../../ground/bytes/numbers.ts";

const WORD = 8;
const RSP_BIT = 1 << RSP.number;
const [PUSH, POP, POP_END, PUSH_INT32, PUSH_INT8, PUSH_FLAGS, POP_FLAGS] = [
  0x50, 0x58, 0x60, 0x68, 0x6a, 0x9c, 0x9d,
];
const [LEA, ADD_INT32, ADD_INT8] = [0x8d, 0x81, 0x83];
/** ModRM bytes of `add` and `sub` of a constant, for the stack pointer. */
const [ADD_TO, SUBTRACT_FROM] = [0xc4, 0xec];

const instruction = new Instruction();

/**
 * Walks inserted code up to its first `ret`, and reports each offset at which the stack pointer is moved,
 * with the bytes that it is below its start. Jumps must keep this number. Effects of callees on the stack are
 * ignored.
 */
export function walkStack(
  code: Uint8Array,
  [start, end]: readonly [number, number],
  onShift: (place: number, shift: number) => void,
): void {
  let shift = 0;
  let at = start;
  while (at < end) {
    decode(code, at, instruction);
    const { flow, length } = instruction;
    const pushed = flow === FLOW.next ? pushedBy(code, at) : 0;
    at += length;
    shift += pushed;
    if (pushed !== 0 || flow === FLOW.return) onShift(at, shift);
    if (flow === FLOW.return) return;
  }
}

/** Returns by how many bytes the last decoded instruction lowers the stack pointer. */
function pushedBy(code: Uint8Array, at: number): number {
  const { writes, opcode, base, index, displacement, length, modRmAt } = instruction;
  if ((writes & RSP_BIT) === 0) return 0;
  if (opcode >= PUSH && opcode < POP) return WORD;
  if (opcode >= POP && opcode < POP_END) return -WORD;
  if (opcode === PUSH_INT32 || opcode === PUSH_INT8 || opcode === PUSH_FLAGS) return WORD;
  if (opcode === POP_FLAGS) return -WORD;
  if (opcode === LEA && base === RSP.number && index < 0) return -displacement;
  const modRm = code[at + modRmAt];
  if ((opcode === ADD_INT32 || opcode === ADD_INT8) && (modRm === ADD_TO || modRm === SUBTRACT_FROM)) {
    const constant =
      opcode === ADD_INT32 ? int32At(code, at + length - 4) : (code[at + length - 1] << 24) >> 24;
    return modRm === ADD_TO ? -constant : constant;
  }
  throw new RangeError("inserted code moves the stack pointer by what is no constant");
}
