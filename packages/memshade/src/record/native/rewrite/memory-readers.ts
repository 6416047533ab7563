import { decode, FLOW, INSTRUCTION_POINTER, Instruction, READ } from "../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS, R8, R9, RBP, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { OPCODE, SUMS } from "./address-flow.ts";
import { type Code, type CodeFunction, endsPath } from "./code.ts";
import { relativeAddress } from "./jump-tables.ts";
import { systemCallNumber } from "./watched-system-calls.ts";

const [MOVS_BYTES, MOVS] = [0xa4, 0xa5];
/** System calls that read memory which rsi leads to: `write`, `pwrite64`, `sendto`. */
const SENDING: ReadonlySet<number> = new Set([1, 18, 44]);
const ARGUMENTS = [RDI, RSI, RDX, RCX, R8, R9].map(({ number }) => number);
const bit = (register: number): number => (register >= 0 && register < 16 ? 1 << register : 0);
const instruction = new Instruction();
/** Functions that read memory that they are given, and which of their arguments lead there. */
const READERS: ReadonlyMap<string, readonly number[]> = new Map(
  Object.entries({
    memcpy: [1],
    memmove: [1],
    mempcpy: [1],
    memcmp: [0, 1],
    bcmp: [0, 1],
    bcopy: [0],
    memchr: [0],
    __memcpy_chk: [1],
    __memmove_chk: [1],
    __mempcpy_chk: [1],
    memmem: [0, 2],
    memccpy: [1],
    write: [1],
    pwrite: [1],
    pwrite64: [1],
    fwrite: [0],
    send: [1],
    sendto: [1],
    crc32: [1],
    crc32_z: [1],
    adler32: [1],
    adler32_z: [1],
    XXH32: [0],
    XXH64: [0],
    XXH3_64bits: [0],
    MD5: [0],
    MD5_Update: [1],
    SHA1: [0],
    SHA1_Update: [1],
    SHA256: [0],
    SHA256_Update: [1],
    SHA512: [0],
    SHA512_Update: [1],
    EVP_Digest: [0],
    EVP_DigestUpdate: [1],
    HMAC_Update: [1],
    BIO_write: [1],
    gcry_md_hash_buffer: [2],
    gcry_md_write: [1],
  }),
);

/** Registers that lead to what an instruction reads, or has read by what it calls. */
export function registersRead(code: Code, i: number, imported: ReadonlyMap<number, string>): number[] {
  const flow = code.flows[i];
  if (flow === FLOW.call || flow === FLOW.indirectCall) return argumentsRead(code, i, imported);
  if (flow === FLOW.systemCall) return SENDING.has(systemCallNumber(code, i) ?? -1) ? [RSI.number] : [];
  if (flow !== FLOW.next) return [];
  decode(code.bytes, code.offsets[i], instruction);
  const { access, base, index, opcode, displacement, operandSize } = instruction;
  if (opcode === MOVS || opcode === MOVS_BYTES) return [RSI.number];
  if ((access & READ) === 0 || base === INSTRUCTION_POINTER) return [];
  // A pointer to a virtual member of a class is its place in a table, plus one.
  if (index >= 0 && displacement === -1 && operandSize === 8) return [];
  return [base, index].filter((register) => register >= 0 && register !== RSP.number);
}

/** Registers that lead to what a call reads. */
function argumentsRead(code: Code, i: number, imported: ReadonlyMap<number, string>): number[] {
  const name = imported.get(slotOfCall(code, i) ?? -1);
  if (name !== undefined) return (READERS.get(name) ?? []).map((number) => ARGUMENTS[number]);
  if (code.flows[i] !== FLOW.call) return [];
  const target = code.targets[i];
  const callee = code.functionAt(target);
  // Of code without frames nobody knows what it does.
  if (callee < 0) return isUnknown(code, target) ? ARGUMENTS : [];
  return ARGUMENTS.filter((register) => isReadFrom(code, code.functions[callee], register));
}

function isUnknown(code: Code, target: number): boolean {
  const isInside = target >= 0 && target < code.bytes.length && code.functionAround(target) < 0;
  return isInside && !code.stubs.has(target);
}

/** Where the address of what is called stands (SVMA), where that is at a fixed place. */
export function slotOfCall(code: Code, i: number): number | undefined {
  if (code.flows[i] === FLOW.call) return code.stubs.slotOf(code.targets[i]);
  return code.relativeAt[i] === 0 ? undefined : relativeAddress(code, i);
}

const reader = new Instruction();

/** Whether a function reads where one of its arguments leads: right away, or where it has a place on the stack that a frame pointer leads to. */
function isReadFrom(code: Code, { first, last }: CodeFunction, argument: number): boolean {
  let holders = bit(argument);
  const places = new Set<number>();
  for (let i = first; i < last; i++) {
    decode(code.bytes, code.offsets[i], reader);
    const { access, base, index, displacement, opcode, writes, reads, flow } = reader;
    if ((access & READ) !== 0 && flow === FLOW.next && ((bit(base) | bit(index)) & holders) !== 0)
      return true;
    const isPlace = access !== 0 && base === RBP.number && index < 0;
    const isHeld = (reads & holders) !== 0;
    if (isPlace && opcode === OPCODE.movTo && isHeld) places.add(displacement);
    if (isPlace && opcode === OPCODE.movFrom && places.has(displacement)) holders |= writes;
    else if (access === 0 && (opcode === OPCODE.movTo || opcode === OPCODE.movFrom) && isHeld)
      holders |= writes;
    else if (!SUMS.has(opcode) || access !== 0 || !isHeld) holders &= ~writes;
    if (flow === FLOW.call || flow === FLOW.indirectCall || endsPath(flow)) {
      // What else is in registers there is not known.
      holders &= KEPT_BY_CALLS;
      if (endsPath(flow)) holders = 0;
      if (holders === 0 && places.size === 0) return false;
    }
  }
  return false;
}
