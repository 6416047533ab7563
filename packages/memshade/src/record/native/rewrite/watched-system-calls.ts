import { decode, FLOW, Instruction } from "../../../code/x64/decode/index.ts";
import { RAX } from "../../../code/x64/index.ts";
import { int32 } from "../../../code/x64/operands.ts";
import { int32At } from "../../../ground/bytes/numbers.ts";
import { type Code, TRAIT } from "./code.ts";
import { LEAVE_RED_ZONE, SKIP_RED_ZONE } from "./insertion/red-zone.ts";
import type { Insertion } from "./plan.ts";

/**
 * System calls that are checked before they run: they open or describe files, change protections, map memory,
 * start programs, write, or access memory by address.
 */
export const SYSTEM_CALL = {
  write: 1,
  open: 2,
  stat: 4,
  lstat: 6,
  lseek: 8,
  mmap: 9,
  mprotect: 10,
  pread: 17,
  pwrite: 18,
  writev: 20,
  mremap: 25,
  shmat: 30,
  sendto: 44,
  sendmsg: 46,
  execve: 59,
  ptrace: 101,
  openat: 257,
  newfstatat: 262,
  vmsplice: 278,
  preadv: 295,
  pwritev: 296,
  processVmReadv: 310,
  processVmWritev: 311,
  execveat: 322,
  preadv2: 327,
  pwritev2: 328,
  pkeyMprotect: 329,
  statx: 332,
  openat2: 437,
} as const;
/**
 * Address of the word with the check's address, the same in every process, behind the words of slow paths.
 */
export const WATCH_WORD = 0x7ff0_0ff8;

const WATCHED: ReadonlySet<number> = new Set(Object.values(SYSTEM_CALL));
const SYSCALL = [0x0f, 0x05];
const [MOV_CONSTANT, REX_W, MOV_LONG, OF_RAX] = [0xb8, 0x48, 0xc7, 0xc0];
/** `xor`; both operands are rax. */
const XOR: ReadonlySet<number> = new Set([0x31, 0x33]);
const CALL_BY_WORD = [0xff, 0x14, 0x25, ...int32(WATCH_WORD)];
const RAX_BIT = 1 << RAX.number;

/**
 * Code before a watched system call. Afterwards rcx, which `syscall` overwrites, is 0 if the call was already
 * made.
 */
export const WATCH: Omit<Insertion, "before"> = {
  bytes: [...SKIP_RED_ZONE, ...CALL_BY_WORD, ...LEAVE_RED_ZONE],
};
/** `jrcxz` over the system call, which changes no flags. */
export const SKIP_SYSTEM_CALL: readonly number[] = [0xe3, SYSCALL.length];

const instruction = new Instruction();

/** Returns true if an instruction is, or may be, a system call to check. */
export function isWatched(code: Code, i: number): boolean {
  if (code.flows[i] !== FLOW.systemCall) return false;
  const at = code.offsets[i];
  if (code.lengths[i] !== SYSCALL.length || SYSCALL.some((byte, k) => code.bytes[at + k] !== byte))
    return false;
  const number = systemCallNumber(code, i);
  return number === undefined || WATCHED.has(number);
}

/** Returns the constant in rax at a system call, if straight code sets it. */
export function systemCallNumber({ bytes, offsets, flows, traits }: Code, i: number): number | undefined {
  for (let before = i - 1; before >= 0; before--) {
    if ((traits[before + 1] & TRAIT.leader) !== 0 || flows[before] !== FLOW.next) return undefined;
    const at = offsets[before];
    decode(bytes, at, instruction);
    if ((instruction.writes & RAX_BIT) === 0) continue;
    if (XOR.has(bytes[at]) && bytes[at + 1] === OF_RAX) return 0;
    if (bytes[at] === MOV_CONSTANT) return int32At(bytes, at + 1);
    const isLong = bytes[at] === REX_W && bytes[at + 1] === MOV_LONG && bytes[at + 2] === OF_RAX;
    return isLong ? int32At(bytes, at + 3) : undefined;
  }
  return undefined;
}
