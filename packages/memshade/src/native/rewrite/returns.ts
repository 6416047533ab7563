import { decode, FLOW, Instruction } from "../../x64/decode/index.ts";
import { RBP, RSP } from "../../x64/index.ts";
import type { Code, CodeFunction } from "./code.ts";

const RBP_BIT = 1 << RBP.number;
const RSP_BIT = 1 << RSP.number;
/** `mov` to a place and from one, `xchg`, also with rax, and `pop` of rsp. */
const [MOV_TO, MOV_FROM, XCHG, XCHG_RAX, POP_RSP] = [0x89, 0x8b, 0x87, 0x94, 0x5c];
const [PUSH_FIRST, PUSH_LAST, PUSH_CONSTANT] = [0x50, 0x57, 0x68];

/**
 * Whether a function's `ret` may lead to a place that is not behind the call of it, with a value in any register: it takes another
 * stack (`swapcontext`, which begins functions with their arguments), or has put an address there itself (retpolines).
 */
export function returnsElsewhere(code: Code, { first, last }: CodeFunction): boolean {
  for (let i = first; i < last; i++)
    if (takesStack(code, i) || (code.flows[i] === FLOW.return && i > first && putsAddress(code, i - 1)))
      return true;
  return false;
}

/** rsp gets another value than that of the frame pointer. */
function takesStack({ kills, reads, opcodes }: Code, i: number): boolean {
  if ((kills[i] & RSP_BIT) === 0) return false;
  switch (opcodes[i]) {
    case MOV_TO:
    case MOV_FROM:
      return reads[i] !== RBP_BIT;
    case XCHG:
    case XCHG_RAX:
    case POP_RSP:
      return true;
    default:
      return false;
  }
}

const instruction = new Instruction();

function putsAddress({ bytes, offsets, opcodes, reads }: Code, i: number): boolean {
  const opcode = opcodes[i];
  if ((reads[i] & RSP_BIT) === 0) return false;
  if ((opcode >= PUSH_FIRST && opcode <= PUSH_LAST) || opcode === PUSH_CONSTANT) return true;
  if (opcode !== MOV_TO) return false;
  decode(bytes, offsets[i], instruction);
  const { base, index, displacement } = instruction;
  return base === RSP.number && index < 0 && displacement === 0;
}
