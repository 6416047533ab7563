import { ENCODINGS } from "../../../../code/x64/decode/general-rows.ts";
import {
  ADDRESS_ONLY,
  IMPLICIT,
  type Instruction,
  NO_REGISTER,
  READ,
  SEGMENT,
  WRITE,
} from "../../../../code/x64/decode/index.ts";
import { RSI, RSP } from "../../../../code/x64/index.ts";
import { elementBytes, stringOperands } from "../../rewrite/insertion/string-instructions.ts";
import { STRING } from "./routines/string-routine.ts";

/**
 * Kinds of accesses. An update loads and stores the same bytes. An atomic access does so in one step, and counts as a
 * load of its own class. A string instruction may access any number of bytes; a fill reads nothing.
 */
export type AccessKind = "load" | "store" | "update" | "atomic" | "string" | "fill";

const EXCHANGES = new Set([0x86, 0x87]);
/** `bt` and its variants, whose bit number may lie outside of the operand. */
const BIT_OPERATIONS = new Set([0x1a3, 0x1ab, 0x1b3, 0x1bb]);
const LARGEST = 64;

/**
 * Returns the kind of an access; undefined if it is not followed, as thread-local data, the stack where `isStackFollowed`
 * is false, a vector of addresses, a bit number and variable sizes are not.
 */
export function accessOf(
  instruction: Instruction,
  isFrame: boolean,
  isStackFollowed: boolean,
): AccessKind | undefined {
  const { access, segment, base, index, opcode, size, implicit } = instruction;
  if (implicit === IMPLICIT.maskmov || implicit === IMPLICIT.xlat) return undefined;
  if (access === 0 || (access & ADDRESS_ONLY) !== 0) return undefined;
  if (segment !== SEGMENT.none) return undefined;
  if (!isStackFollowed && (base === RSP.number || isFrame)) return undefined;
  // `mov` of rax with a whole address has no ModRM byte. An operand without registers has a fixed address.
  const isUnusual =
    instruction.vectorIndex ||
    instruction.shortAddress ||
    instruction.modRmAt === 0 ||
    BIT_OPERATIONS.has(opcode) ||
    size === 0 ||
    size > LARGEST;
  if (isUnusual || (base === NO_REGISTER && index === NO_REGISTER && instruction.displacement < 0))
    return undefined;
  if (access === READ) return "load";
  if (instruction.locked || EXCHANGES.has(opcode)) return "atomic";
  return access === WRITE ? "store" : "update";
}

/** Returns the form of a string instruction (`STRING` bits); undefined if it is not followed. */
export function stringOf(instruction: Instruction): number | undefined {
  if (instruction.segment !== SEGMENT.none) return undefined;
  let form = elementBytes(instruction);
  if (instruction.repeated) form |= STRING.repeated;
  if (instruction.shortAddress) form |= STRING.shortAddress;
  for (const { register, isWritten } of stringOperands(instruction))
    form |= isWritten ? STRING.writesTarget : register === RSI ? STRING.readsSource : STRING.readsTarget;
  return form;
}

/** Vector stores that can be repeated to another address: opcode map, then the last opcode byte. */
const REPEATABLE = new Set([
  0x111, 0x113, 0x117, 0x129, 0x12b, 0x17e, 0x17f, 0x1d6, 0x1e7, 0x314, 0x315, 0x316, 0x317, 0x319, 0x31b,
  0x339, 0x33b,
]);

/**
 * Ways to compare a store's operand with memory: one instruction that compares both, or the same store to the stack.
 */
export type Comparison =
  | { method: "compare"; bytes: number[]; displacementAt: number }
  | { method: "repeat"; bytes: number[]; readsFlags: boolean }
  | undefined;

/** `setcc` opcodes, first and last: stores of a flag. */
const [FIRST_SET, LAST_SET] = [0x190, 0x19f];

const [STORE_BYTE, STORE, STORE_BYTE_CONSTANT, STORE_CONSTANT] = [0x88, 0x89, 0xc6, 0xc7];
const COMPARE_OPCODE: Readonly<Record<number, number>> = {
  [STORE_BYTE]: 0x38,
  [STORE]: 0x39,
  [STORE_BYTE_CONSTANT]: 0x80,
  [STORE_CONSTANT]: 0x81,
};
const COMPARE_DIGIT = 7 << 3;
const MODE_AND_PLACE = 0xc7;

export function comparisonOf(instruction: Instruction, bytes: Uint8Array): Comparison {
  const { opcode, modRmAt, displacementAt, encoding, repeated } = instruction;
  const compare = COMPARE_OPCODE[opcode];
  if (compare !== undefined && encoding === ENCODINGS.L && !repeated) {
    const copy = [...bytes];
    copy[modRmAt - 1] = compare;
    if (opcode === STORE_BYTE_CONSTANT || opcode === STORE_CONSTANT)
      copy[modRmAt] = (copy[modRmAt] & MODE_AND_PLACE) | COMPARE_DIGIT;
    return { method: "compare", bytes: copy, displacementAt };
  }
  const readsFlags = opcode >= FIRST_SET && opcode <= LAST_SET;
  return REPEATABLE.has(opcode) || readsFlags ? repetitionOf(instruction, bytes, readsFlags) : undefined;
}

const [VEX2, VEX3, EVEX] = [0xc5, 0xc4, 0x62];
/** ModRM and SIB bytes of `[rsp]`. */
const [TOP_MODE, TOP_INDEX] = [0x04, 0x24];
const REGISTER_FIELD = 0x38;

function repetitionOf(
  { modRmAt, length, encoding }: Instruction,
  bytes: Uint8Array,
  readsFlags: boolean,
): Comparison {
  const head = [...bytes.subarray(0, modRmAt)];
  // Clear the bits of high base and index registers.
  if (encoding === ENCODINGS.L) {
    const rex = head.findIndex((byte) => (byte & 0xf0) === 0x40);
    if (rex >= 0) head[rex] &= ~3;
  } else {
    const at = head.findIndex((byte) => byte === VEX2 || byte === VEX3 || byte === EVEX);
    if (encoding === ENCODINGS.E && (head[at + 3] & 7) !== 0) return undefined;
    if (head[at] !== VEX2) head[at + 1] |= 0x60;
  }
  allowUnaligned(head, encoding);
  const mode = bytes[modRmAt];
  const tail = bytes.subarray(modRmAt + 1 + placeBytesOf(bytes, modRmAt), length);
  const copy = [...head, (mode & REGISTER_FIELD) | TOP_MODE, TOP_INDEX, ...tail];
  return { method: "repeat", bytes: copy, readsFlags };
}

const [MOVUPS, MOVAPS, MOVNTPS, MOVDQA, MOVNTDQ] = [0x11, 0x29, 0x2b, 0x7f, 0xe7];
const [OPERAND_PREFIX, REPEAT_PREFIX] = [0x66, 0xf3];

/** Replaces a store that faults on an unaligned address by one that does not. */
function allowUnaligned(head: number[], encoding: number): void {
  const last = head.length - 1;
  const opcode = head[last];
  if (opcode === MOVAPS || opcode === MOVNTPS) head[last] = MOVUPS;
  if (opcode !== MOVDQA && opcode !== MOVNTDQ) return;
  // movdqu differs in the prefix. VEX and EVEX encode the prefix in two bits: 1, or 2 for movdqu.
  if (encoding === ENCODINGS.L) {
    const prefix = head.indexOf(OPERAND_PREFIX);
    if (prefix < 0) return;
    head[prefix] = REPEAT_PREFIX;
  } else {
    const field = encoding === ENCODINGS.E ? last - 2 : last - 1;
    if ((head[field] & 3) !== 1) return;
    head[field] = (head[field] & ~3) | 2;
  }
  head[last] = MOVDQA;
}

function placeBytesOf(bytes: Uint8Array, modRmAt: number): number {
  const mode = bytes[modRmAt] >> 6;
  const low = bytes[modRmAt] & 7;
  const sib = low === 4 ? 1 : 0;
  const base = sib === 1 ? bytes[modRmAt + 1] & 7 : low;
  const displacement = mode === 1 ? 1 : mode === 2 || (mode === 0 && base === 5) ? 4 : 0;
  return sib + displacement;
}

/** Stores of `vmaskmovps`, `vmaskmovpd`, `vpmaskmovd` and `vpmaskmovq`. */
const MASKED_STORES = new Set([0x22e, 0x22f, 0x28e]);

export function isMasked({ encoding, opcode }: Instruction, bytes: Uint8Array): boolean {
  if (encoding === ENCODINGS.V) return MASKED_STORES.has(opcode);
  if (encoding !== ENCODINGS.E) return false;
  const at = bytes.indexOf(EVEX);
  return (bytes[at + 3] & 7) !== 0;
}
