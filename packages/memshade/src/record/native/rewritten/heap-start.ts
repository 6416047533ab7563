import {
  type Assembler,
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  R15,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../code/x64/index.ts";
import { place } from "../../../code/x64/operands.ts";
import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import {
  ADDED_END_AT,
  FILE_HEADER_BYTES,
  HEAP_START_AT,
  OLD_COUNT_AT,
  PT_REWRITTEN,
} from "../rewrite/write-file.ts";
import { systemCall } from "../start/system-calls.ts";

const [MPROTECT, BRK, PRCTL] = [10, 12, 157];
const [PR_SET_MM, PR_SET_MM_MAP] = [35, 14];
const [AT_PHDR, AT_PHNUM, AT_EXECFN] = [3, 5, 31];
const [PT_LOAD, PT_PHDR] = [1, 6];
const [FLAGS_AT, ADDRESS_AT, PROGRAM_HEADER_BYTES] = [4, 16, 56];
const [PF_X, PF_W] = [1, 2];
const [PROT_READ, PROT_WRITE] = [1, 2];
/** Offsets in the file header; a 2-byte field follows the second one. */
const [ELF_MAGIC, E_PHOFF, E_PHNUM, OF_NEXT_FIELD] = [0x464c_457f, 32, 56, -0x1_0000];
const WORD = 8;
/**
 * Words behind those of slow paths: address of the program's program headers, their number, and the program's
 * bias.
 */
export const PROGRAM_HEADERS = 0x7ff0_0ff0;
export const HEADER_COUNT = 0x7ff0_0fe8;
export const PROGRAM_BIAS = 0x7ff0_0fe0;
/**
 * Bytes of `struct prctl_mm_map`: eleven addresses, an auxiliary vector and its size (none), a descriptor
 * (none).
 */
const MAP_BYTES = 104;
const NO_VECTOR = [88, 96];
const NO_FILE = 100;
/** Bits of the heap's random offset, which is below 32 MiB in old kernels. */
const RANDOM_BITS = 0x1ff_f000;

/**
 * Assembles code that lets the heap begin behind the original program. Without address randomization, the
 * kernel would begin it behind the last segment, which is the new code. Programs that were saved with their
 * memory (Lisps) expect the heap behind their own last byte. Programs at fixed addresses always need this,
 * because there is little room between the new code and the counters. If the kernel refuses, the heap stays
 * where it is. The stack pointer is preserved; all other registers are overwritten.
 */
export function putHeapBehindProgram(asm: Assembler): void {
  const [done, next, vectors, headers, behind, isKnown] = Array.from({ length: 6 }, () => asm.label());
  // r13: arguments; r14: environment; r15: auxiliary vector.
  asm.put("mov", 8, RAX, place(RSP));
  asm.put("lea", 8, R13, place(RSP, WORD));
  asm.put("lea", 8, R14, place(RSP, 2 * WORD, RAX, WORD));
  asm.put("mov", 8, R15, R14);
  const environment = asm.here();
  asm.put("mov", 8, RAX, place(R15));
  asm.put("add", 8, R15, WORD);
  asm.put("test", 8, RAX, RAX);
  asm.jump(environment, "ne");
  // rbx, rbp: program headers and their number; r12: path of the program, at the end of the arguments and
  // environment.
  for (const register of [RBX, RBP, R12]) asm.put("xor", 4, register, register);
  asm.bind(vectors);
  asm.put("mov", 8, RAX, place(R15));
  asm.put("mov", 8, RCX, place(R15, WORD));
  asm.put("add", 8, R15, 2 * WORD);
  for (const [type, register] of [
    [AT_PHDR, RBX],
    [AT_PHNUM, RBP],
    [AT_EXECFN, R12],
  ] as [number, Register][]) {
    const other = asm.label();
    asm.put("cmp", 8, RAX, type);
    asm.jump(other, "ne");
    asm.put("mov", 8, register, RCX);
    asm.bind(other);
  }
  asm.put("test", 8, RAX, RAX);
  asm.jump(vectors, "ne");
  asm.put("test", 8, R12, R12);
  asm.jump(done, "e");
  asm.put("mov", 8, place(undefined, PROGRAM_HEADERS), RBX);
  asm.put("mov", 8, place(undefined, HEADER_COUNT), RBP);
  // r8: bias of the program; r9: its first segment; r10: memshade's program header.
  for (const register of [R8, R9, R10]) asm.put("xor", 4, register, register);
  asm.put("mov", 8, R9, -1);
  asm.put("mov", 8, RSI, RBX);
  asm.bind(headers);
  asm.put("test", 4, RBP, RBP);
  asm.jump(behind, "e");
  asm.put("mov", 4, RAX, place(RSI));
  asm.put("mov", 8, RCX, place(RSI, ADDRESS_AT));
  const [noHeaders, noSegment] = [asm.label(), asm.label()];
  asm.put("cmp", 4, RAX, PT_PHDR);
  asm.jump(noHeaders, "ne");
  asm.put("mov", 8, R8, RBX);
  asm.put("sub", 8, R8, RCX);
  asm.bind(noHeaders);
  asm.put("cmp", 4, RAX, PT_LOAD);
  asm.jump(noSegment, "ne");
  asm.put("cmp", 8, RCX, R9);
  asm.jump(noSegment, "ae");
  asm.put("mov", 8, R9, RCX);
  asm.put("mov", 4, R11, place(RSI, FLAGS_AT));
  asm.bind(noSegment);
  asm.put("cmp", 4, RAX, PT_REWRITTEN);
  asm.jump(next, "ne");
  asm.put("mov", 8, R10, RSI);
  asm.bind(next);
  asm.put("add", 8, RSI, PROGRAM_HEADER_BYTES);
  asm.put("sub", 4, RBP, 1);
  asm.jump(headers);
  asm.bind(behind);
  asm.put("mov", 8, place(undefined, PROGRAM_BIAS), R8);
  asm.put("test", 8, R10, R10);
  asm.jump(done, "e");
  asm.put("mov", 4, RBP, R11);
  restoreOldHeaders(asm);
  // rbx: new start of the heap; r8: end of the added segments.
  asm.put("mov", 8, RBX, place(R10, HEAP_START_AT));
  asm.put("test", 8, RBX, RBX);
  asm.jump(done, "e");
  asm.put("add", 8, RBX, R8);
  asm.put("add", 8, R9, R8);
  asm.put("mov", 8, RBP, R8);
  asm.put("add", 8, R8, place(R10, ADDED_END_AT));
  asm.put("xor", 4, RDI, RDI);
  systemCall(asm, BRK);
  asm.put("sub", 8, RAX, R8);
  asm.jump(isKnown, "e");
  asm.put("test", 8, RBP, RBP);
  asm.jump(done, "ne");
  asm.put("and", 4, RAX, RANDOM_BITS);
  asm.put("add", 8, RBX, RAX);
  asm.bind(isKnown);
  asm.put("mov", 8, RSI, RSP);
  asm.put("sub", 8, RSP, MAP_BYTES);
  asm.put("lea", 8, RCX, place(RBX, -1));
  asm.put("mov", 8, RDX, place(R13));
  asm.put("mov", 8, RAX, place(R14));
  asm.put("test", 8, RAX, RAX);
  asm.put("cmove", 8, RAX, R12);
  // Fields: code, data, heap, stack, arguments, environment.
  [R9, RCX, RCX, RCX, RBX, RBX, RSI, RDX, RAX, RAX, R12].forEach((register, i) => {
    asm.put("mov", 8, place(RSP, WORD * i), register);
  });
  for (const at of NO_VECTOR) asm.put("mov", 8, place(RSP, at), 0);
  asm.put("mov", 4, place(RSP, NO_FILE), -1);
  asm.put("mov", 4, RDI, PR_SET_MM);
  asm.put("mov", 4, RSI, PR_SET_MM_MAP);
  asm.put("mov", 8, RDX, RSP);
  asm.put("mov", 4, R10, MAP_BYTES);
  asm.put("xor", 4, R8, R8);
  systemCall(asm, PRCTL);
  asm.put("add", 8, RSP, MAP_BYTES);
  asm.bind(done);
}

/**
 * Restores the position of the old program headers in the file header in memory. Programs find them there
 * (`__ehdr_start`, `dladdr`). The new ones lie behind the heap's room, so their file offset is no distance in
 * memory.
 * r8: bias of the program; r9: its first segment; ebp: flags of that segment; r10: memshade's program header.
 * All are preserved.
 */
function restoreOldHeaders(asm: Assembler): void {
  const [isDone, isWritable] = [asm.label(), asm.label()];
  asm.put("cmp", 4, place(R10, OLD_COUNT_AT), 0);
  asm.jump(isDone, "e");
  asm.put("lea", 8, RDI, place(R9, 0, R8));
  asm.put("cmp", 4, place(RDI), ELF_MAGIC);
  asm.jump(isDone, "ne");
  const setRights = (): void => {
    asm.put("mov", 4, RSI, PAGE_BYTES);
    systemCall(asm, MPROTECT);
  };
  asm.put("test", 4, RBP, PF_W);
  asm.jump(isWritable, "ne");
  asm.put("mov", 4, RDX, PROT_READ | PROT_WRITE);
  setRights();
  asm.put("test", 8, RAX, RAX);
  asm.jump(isDone, "ne");
  asm.bind(isWritable);
  asm.put("mov", 8, place(RDI, E_PHOFF), FILE_HEADER_BYTES);
  asm.put("mov", 4, RAX, place(RDI, E_PHNUM));
  asm.put("and", 4, RAX, OF_NEXT_FIELD);
  asm.put("or", 4, RAX, place(R10, OLD_COUNT_AT));
  asm.put("mov", 4, place(RDI, E_PHNUM), RAX);
  asm.put("test", 4, RBP, PF_W);
  asm.jump(isDone, "ne");
  // PF_X is PROT_EXEC, two bits lower.
  asm.put("mov", 4, RDX, RBP);
  asm.put("and", 4, RDX, PF_X);
  asm.put("shl", 4, RDX, 2);
  asm.put("or", 4, RDX, PROT_READ);
  setRights();
  asm.bind(isDone);
}
