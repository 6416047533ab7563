import {
  type AssembledCode,
  Assembler,
  type Label,
  R8,
  R9,
  R10,
  R11,
  RAX,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
} from "../../../code/x64/index.ts";
import { place, relative } from "../../../code/x64/operands.ts";
import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { SYSTEM_CALL } from "../rewrite/watched-system-calls.ts";
import { PT_REWRITTEN } from "../rewrite/write-file.ts";
import { REFUSED } from "../start/launcher.ts";
import { exitWith, systemCall } from "../start/system-calls.ts";
import { HEADER_COUNT, PROGRAM_BIAS, PROGRAM_HEADERS } from "./heap-start.ts";
import { ENTRIES_AT, ENTRY_BYTES, INODE_AT, PATH_AT } from "./original-files.ts";
import { recordStarted } from "./watch-started.ts";

/**
 * Symbols of the code's relocations: the table of `original-files.ts`, and the dynamic linker's list of
 * objects.
 */
export const SYMBOL = { originals: "originals", objects: "objects" } as const;

const [WRITE, CLOSE, FSTAT, FSTATFS] = [1, 3, 5, 138];
const STDERR = 2;
const [STAT_BYTES, STATX_INODE_AT, STATX_MAJOR_AT, STATX_MINOR_AT] = [144, 32, 136, 140];
const [AT_FDCWD, AT_EMPTY_PATH] = [-100, 0x1000];
/** O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW: not needed, since the file exists and is no link. */
const OF_OPENING_ALONE = 0x40 | 0x80 | 0x200 | 0x1_0000 | 0x2_0000;
const PROT_WRITE = 2;
/** Flags of `mmap`, `mremap` and `shmat` with which they replace what is mapped at an address. */
const [MAP_FIXED, MREMAP_FIXED, SHM_REMAP] = [0x10, 2, 0x4000];
/**
 * Bytes of `struct statfs`, which begins with the file system's type. Files of procfs give access to memory
 * of processes.
 */
const [STATFS_BYTES, PROC_SUPER_MAGIC] = [120, 0x9fa0];
/**
 * Least bytes that are accessed after a seek. Streams read a page, which begins at the position or before.
 */
const SEEK_BYTES = 4096;
/** Calls with an offset in r10. */
const READS_AT = [
  SYSTEM_CALL.pread,
  SYSTEM_CALL.preadv,
  SYSTEM_CALL.pwritev,
  SYSTEM_CALL.preadv2,
  SYSTEM_CALL.pwritev2,
];
/** PTRACE_PEEKTEXT, PTRACE_PEEKDATA, PTRACE_POKETEXT, PTRACE_POKEDATA */
const PTRACE_WORDS = [1, 2, 4, 5];
const [IOVEC_BYTES, IOVEC_LENGTH_AT] = [16, 8];
/** Offsets in `struct msghdr`. */
const [MESSAGE_VECTORS_AT, MESSAGE_COUNT_AT] = [16, 24];
const PAGE_MASK = -PAGE_BYTES;
const ELF_MAGIC = 0x464c_457f;
const [E_PHOFF, E_PHNUM, PROGRAM_HEADER_BYTES] = [32, 56, 56];
const [P_FLAGS, P_OFFSET, P_VADDR, P_MEMSZ] = [4, 8, 16, 40];
const [PT_LOAD, PF_X] = [1, 1];
/** Offsets in `struct r_debug`, and in link maps. */
const [FIRST_MAP, NEXT_MAP] = [8, 24];

const NOT_RUN =
  "What it changes there would not be run, as rewritten code runs in its place: it ends here; run it without --tool, which records its allocations alone\n";
const CHANGES_CODE = `memshade: the program makes its own code writable. ${NOT_RUN}`;
const REPLACES_CODE = `memshade: the program maps other memory over its own code. ${NOT_RUN}`;
const READS_CODE =
  "memshade: the program reads or changes its own code through the system, by write, /proc/self/mem, process_vm_readv or ptrace. What is rewritten there is not the code of its file: it ends here; run it without --tool, which records its allocations alone\n";

/** Registers saved while a system call is replaced, in the order of their pushes. */
const KEPT = [RBX, RDI, RSI, RDX, R8, R9, R10];

/**
 * Assembles the check that rewritten code calls before the system calls of `SYSTEM_CALL`. The check preserves
 * all registers and flags except rax, and rcx and r11, which a system call overwrites. Afterwards rcx is 0 if
 * the call was already made, else the call must follow.
 * - Calls that open or describe a file get the original in place of a rewritten file. Only the kernel and the
 *   dynamic linker, which is not rewritten, see the rewritten files.
 * - A program that makes rewritten code writable, or has the kernel read or write it, is ended with a line.
 * - Started programs are recorded. A program with another dynamic linker, or with none, does see rewritten
 *   files.
 */
export function watchingCode(): AssembledCode {
  const asm = new Assembler();
  const labels = Array.from({ length: 19 }, () => asm.label());
  const [opens, describes, protects, starts, seeks, reads, moves, traces] = labels;
  const [writes, gathers, sends, done, find, has, hasProgram, keep] = labels.slice(8);
  const [maps, remaps, attaches] = labels.slice(16);
  asm.put("pushf", 4);
  for (const [target, numbers] of [
    [opens, [SYSTEM_CALL.open, SYSTEM_CALL.openat, SYSTEM_CALL.openat2]],
    [describes, [SYSTEM_CALL.stat, SYSTEM_CALL.lstat, SYSTEM_CALL.newfstatat, SYSTEM_CALL.statx]],
    [protects, [SYSTEM_CALL.mprotect, SYSTEM_CALL.pkeyMprotect]],
    [maps, [SYSTEM_CALL.mmap]],
    [remaps, [SYSTEM_CALL.mremap]],
    [attaches, [SYSTEM_CALL.shmat]],
    [starts, [SYSTEM_CALL.execve, SYSTEM_CALL.execveat]],
    [seeks, [SYSTEM_CALL.lseek]],
    [writes, [SYSTEM_CALL.write, SYSTEM_CALL.pwrite, SYSTEM_CALL.sendto]],
    [gathers, [SYSTEM_CALL.writev, SYSTEM_CALL.vmsplice]],
    [sends, [SYSTEM_CALL.sendmsg]],
    [reads, READS_AT],
    [moves, [SYSTEM_CALL.processVmReadv, SYSTEM_CALL.processVmWritev]],
    [traces, [SYSTEM_CALL.ptrace]],
  ] as [Label, number[]][])
    for (const number of numbers) {
      asm.put("cmp", 4, RAX, number);
      asm.jump(target, "e");
    }
  const isOthers = asm.here();
  asm.put("popf", 4);
  asm.put("mov", 4, RCX, 1);
  asm.put("ret", 4);

  asm.bind(opens);
  openFile(asm, find, done);
  asm.bind(describes);
  describeFile(asm, find, done);
  asm.bind(done);
  for (const register of KEPT.toReversed()) asm.put("pop", 8, register);
  asm.put("popf", 4);
  asm.put("mov", 4, RCX, 0);
  asm.put("ret", 4);

  asm.bind(protects);
  asm.put("test", 4, RDX, PROT_WRITE);
  asm.jump(isOthers, "e");
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  asm.put("mov", 8, RBX, RDI);
  asm.put("and", 8, RBX, PAGE_MASK);
  asm.put("lea", 8, R8, place(RDI, 0, RSI));
  asm.call(has);
  asm.put("test", 4, RAX, RAX);
  asm.jump(keep, "e");
  endWith(asm, CHANGES_CODE);
  replacesCode(asm, { maps, remaps, attaches }, { has, hasProgram, keep, isOthers });

  const ends = asm.label();
  const common = { has, hasProgram, keep, isOthers, ends };
  writesCode(asm, { writes, gathers, sends, reads }, common);
  readsCode(asm, { seeks, reads, moves, traces }, common);
  asm.bind(keep);
  for (const register of [...KEPT, RAX].toReversed()) asm.put("pop", 8, register);
  asm.jump(isOthers);

  asm.bind(starts);
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  recordStarted(asm, SYMBOL.originals);
  for (const register of [...KEPT, RAX].toReversed()) asm.put("pop", 8, register);
  asm.jump(isOthers);

  asm.bind(find);
  findOriginal(asm);
  hasCode(asm, has, hasProgram);
  return asm.finish();
}

/** Makes the system call; ebx has its number afterwards. */
function begin(asm: Assembler): void {
  for (const register of KEPT) asm.put("push", 8, register);
  asm.put("mov", 4, RBX, RAX);
  asm.put("syscall", 4);
  asm.put("test", 8, RAX, RAX);
}

function openFile(asm: Assembler, find: Label, done: Label): void {
  const [isOpenat, isOpenat2, isOpen, keep] = Array.from({ length: 4 }, () => asm.label());
  begin(asm);
  asm.jump(done, "s");
  // r8: the descriptor; ebx: flags.
  asm.put("mov", 8, R8, RAX);
  asm.put("cmp", 4, RBX, SYSTEM_CALL.open);
  asm.jump(isOpenat, "ne");
  asm.put("mov", 4, RBX, RSI);
  asm.jump(isOpen);
  asm.bind(isOpenat);
  asm.put("cmp", 4, RBX, SYSTEM_CALL.openat);
  asm.jump(isOpenat2, "ne");
  asm.put("mov", 4, RBX, RDX);
  asm.jump(isOpen);
  asm.bind(isOpenat2);
  asm.put("mov", 4, RBX, place(RDX));
  asm.bind(isOpen);
  asm.put("sub", 8, RSP, STAT_BYTES);
  asm.put("mov", 4, RDI, R8);
  asm.put("mov", 8, RSI, RSP);
  systemCall(asm, FSTAT);
  asm.put("mov", 8, R9, place(RSP));
  asm.put("mov", 8, R10, place(RSP, INODE_AT));
  asm.put("add", 8, RSP, STAT_BYTES);
  asm.put("test", 8, RAX, RAX);
  asm.jump(keep, "ne");
  asm.call(find);
  asm.put("test", 8, RDI, RDI);
  asm.jump(keep, "e");
  asm.put("mov", 8, R9, RDI);
  asm.put("mov", 4, RDI, R8);
  systemCall(asm, CLOSE);
  asm.put("mov", 8, RDI, R9);
  asm.put("mov", 4, RSI, RBX);
  asm.put("and", 4, RSI, ~OF_OPENING_ALONE);
  asm.put("xor", 4, RDX, RDX);
  systemCall(asm, SYSTEM_CALL.open);
  asm.jump(done);
  asm.bind(keep);
  asm.put("mov", 8, RAX, R8);
  asm.jump(done);
}

function describeFile(asm: Assembler, find: Label, done: Label): void {
  const [hasInode, isStatx, isStatAt, again, againAt, againStatx] = Array.from({ length: 6 }, () =>
    asm.label(),
  );
  begin(asm);
  asm.jump(done, "ne");
  asm.put("cmp", 4, RBX, SYSTEM_CALL.statx);
  asm.jump(isStatx, "e");
  asm.put("mov", 8, RCX, RSI);
  asm.put("cmp", 4, RBX, SYSTEM_CALL.newfstatat);
  asm.jump(isStatAt, "ne");
  asm.put("mov", 8, RCX, RDX);
  asm.bind(isStatAt);
  asm.put("mov", 8, R9, place(RCX));
  asm.put("mov", 8, R10, place(RCX, INODE_AT));
  asm.jump(hasInode);
  // Combines the two numbers of a device into one, as in the other calls.
  asm.bind(isStatx);
  asm.put("mov", 8, R10, place(R8, STATX_INODE_AT));
  asm.put("mov", 4, R9, place(R8, STATX_MAJOR_AT));
  asm.put("shl", 8, R9, 8);
  asm.put("mov", 4, RCX, place(R8, STATX_MINOR_AT));
  asm.put("mov", 4, R11, RCX);
  asm.put("and", 4, R11, 0xff);
  asm.put("or", 8, R9, R11);
  asm.put("and", 4, RCX, ~0xff);
  asm.put("shl", 8, RCX, 12);
  asm.put("or", 8, R9, RCX);
  asm.bind(hasInode);
  asm.call(find);
  asm.put("xor", 4, RAX, RAX);
  asm.put("test", 8, RDI, RDI);
  asm.jump(done, "e");
  asm.put("cmp", 4, RBX, SYSTEM_CALL.newfstatat);
  asm.jump(againAt, "e");
  asm.put("cmp", 4, RBX, SYSTEM_CALL.statx);
  asm.jump(againStatx, "e");
  systemCall(asm, SYSTEM_CALL.stat);
  asm.jump(again);
  asm.bind(againAt);
  asm.put("mov", 8, RSI, RDI);
  asm.put("mov", 8, RDI, AT_FDCWD);
  asm.put("mov", 4, R10, place(RSP));
  asm.put("and", 4, R10, ~AT_EMPTY_PATH);
  systemCall(asm, SYSTEM_CALL.newfstatat);
  asm.jump(again);
  asm.bind(againStatx);
  asm.put("mov", 8, RSI, RDI);
  asm.put("mov", 8, RDI, AT_FDCWD);
  asm.put("and", 4, RDX, ~AT_EMPTY_PATH);
  asm.put("mov", 4, R10, place(RSP));
  systemCall(asm, SYSTEM_CALL.statx);
  asm.bind(again);
  asm.put("xor", 4, RAX, RAX);
  asm.jump(done);
}

/**
 * Finds an original by the device in r9 and the inode in r10. rdi gets its path, or 0. rcx and r11 are
 * overwritten.
 */
function findOriginal(asm: Assembler): void {
  const [next, none] = [asm.label(), asm.label()];
  asm.put("lea", 8, RDI, relative(SYMBOL.originals));
  asm.put("mov", 4, RCX, place(RDI));
  asm.put("lea", 8, R11, place(RDI, ENTRIES_AT));
  const loop = asm.here();
  asm.put("test", 4, RCX, RCX);
  asm.jump(none, "e");
  asm.put("cmp", 8, R10, place(R11, INODE_AT));
  asm.jump(next, "ne");
  asm.put("cmp", 8, R9, place(R11));
  asm.jump(next, "ne");
  asm.put("add", 8, RDI, place(R11, PATH_AT));
  asm.put("ret", 4);
  asm.bind(next);
  asm.put("add", 8, R11, ENTRY_BYTES);
  asm.put("sub", 4, RCX, 1);
  asm.jump(loop);
  asm.bind(none);
  asm.put("xor", 4, RDI, RDI);
  asm.put("ret", 4);
}

/** Labels of the code that searches rewritten code, and of its continuations. */
type Common = Readonly<Record<"has" | "hasProgram" | "keep" | "isOthers" | "ends", Label>>;

/**
 * Ends a process that maps memory over rewritten code. `mmap` is frequent, so libraries are not checked there.
 */
function replacesCode(
  asm: Assembler,
  { maps, remaps, attaches }: Readonly<Record<"maps" | "remaps" | "attaches", Label>>,
  { has, hasProgram, keep, isOthers }: Omit<Common, "ends">,
): void {
  const isFound = asm.label();
  const beginCheck = (flags: typeof RDX, flag: number): void => {
    asm.put("test", 4, flags, flag);
    asm.jump(isOthers, "e");
    for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  };
  asm.bind(maps);
  beginCheck(R10, MAP_FIXED);
  asm.put("mov", 8, RBX, RDI);
  asm.put("lea", 8, R8, place(RDI, 0, RSI));
  asm.put("xor", 4, RSI, RSI);
  asm.call(hasProgram);
  asm.jump(isFound);

  asm.bind(remaps);
  beginCheck(R10, MREMAP_FIXED);
  asm.put("mov", 8, RBX, R8);
  asm.put("add", 8, R8, RDX);
  asm.call(has);
  asm.jump(isFound);

  // The size of the shared memory is unknown, so its first page is checked.
  asm.bind(attaches);
  beginCheck(RDX, SHM_REMAP);
  asm.put("mov", 8, RBX, RSI);
  asm.put("lea", 8, R8, place(RSI, PAGE_BYTES));
  asm.call(has);
  asm.bind(isFound);
  asm.put("test", 4, RAX, RAX);
  asm.jump(keep, "e");
  endWith(asm, REPLACES_CODE);
}

/**
 * Ends a process that writes code of the program to a file. Libraries are not checked, since these calls are
 * frequent. The segment with the file header is left out, because it need not contain code.
 */
function writesCode(
  asm: Assembler,
  { writes, gathers, sends, reads }: Readonly<Record<"writes" | "gathers" | "sends" | "reads", Label>>,
  { hasProgram, keep, isOthers, ends }: Common,
): void {
  asm.bind(writes);
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  asm.put("mov", 8, RBX, RSI);
  asm.put("lea", 8, R8, place(RSI, 0, RDX));
  asm.put("mov", 4, RSI, 1);
  asm.call(hasProgram);
  asm.put("test", 4, RAX, RAX);
  asm.jump(ends, "ne");
  for (const register of [...KEPT, RAX].toReversed()) asm.put("pop", 8, register);
  asm.put("cmp", 4, RAX, SYSTEM_CALL.pwrite);
  asm.jump(reads, "e");
  asm.jump(isOthers);

  const isNowhere = (register: typeof RSI): void => {
    asm.put("cmp", 8, register, PAGE_BYTES);
    asm.jump(keep, "b");
  };
  asm.bind(sends);
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  isNowhere(RSI);
  asm.put("mov", 8, RDX, place(RSI, MESSAGE_COUNT_AT));
  asm.put("mov", 8, RSI, place(RSI, MESSAGE_VECTORS_AT));
  const isSent = asm.label();
  asm.jump(isSent);
  asm.bind(gathers);
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  asm.bind(isSent);
  isNowhere(RSI);
  eachVector(asm, { keep, ends }, () => {
    asm.put("mov", 4, RSI, 1);
    asm.call(hasProgram);
  });
}

/** Runs the code of `check` for each of edx vectors at rsi, with the vector's range from rbx to r8. */
function eachVector(asm: Assembler, { keep, ends }: Pick<Common, "keep" | "ends">, check: () => void): void {
  const next = asm.here();
  asm.put("test", 4, RDX, RDX);
  asm.jump(keep, "e");
  asm.put("push", 8, RSI);
  asm.put("push", 8, RDX);
  asm.put("mov", 8, RBX, place(RSI));
  asm.put("mov", 8, R8, place(RSI, IOVEC_LENGTH_AT));
  asm.put("add", 8, R8, RBX);
  check();
  asm.put("pop", 8, RDX);
  asm.put("pop", 8, RSI);
  asm.put("test", 4, RAX, RAX);
  asm.jump(ends, "ne");
  asm.put("add", 8, RSI, IOVEC_BYTES);
  asm.put("sub", 4, RDX, 1);
  asm.jump(next);
}

/** Ends a process that has the kernel read or write memory with rewritten code. */
function readsCode(
  asm: Assembler,
  { seeks, reads, moves, traces }: Readonly<Record<"seeks" | "reads" | "moves" | "traces", Label>>,
  { has, keep, isOthers, ends }: Common,
): void {
  const isAt = asm.label();
  asm.bind(seeks);
  // No code lies below the program, and few files are that large.
  asm.put("cmp", 8, RSI, place(undefined, PROGRAM_BIAS));
  asm.jump(isOthers, "b");
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  asm.put("mov", 8, RBX, RSI);
  asm.put("mov", 4, R8, SEEK_BYTES);
  asm.jump(isAt);

  asm.bind(reads);
  asm.put("cmp", 8, R10, place(undefined, PROGRAM_BIAS));
  asm.jump(isOthers, "b");
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  asm.put("mov", 8, RBX, R10);
  // The third argument of calls with vectors is their number, which covers only a part of the range.
  asm.put("mov", 8, R8, RDX);
  asm.bind(isAt);
  asm.put("add", 8, R8, RBX);
  asm.put("push", 8, RDI);
  asm.call(has);
  asm.put("pop", 8, RDI);
  asm.put("test", 4, RAX, RAX);
  asm.jump(keep, "e");
  asm.put("sub", 8, RSP, STATFS_BYTES);
  asm.put("mov", 8, RSI, RSP);
  systemCall(asm, FSTATFS);
  asm.put("mov", 8, RCX, place(RSP));
  asm.put("add", 8, RSP, STATFS_BYTES);
  asm.put("test", 8, RAX, RAX);
  asm.jump(keep, "ne");
  asm.put("cmp", 8, RCX, PROC_SUPER_MAGIC);
  asm.jump(keep, "ne");
  asm.bind(ends);
  endWith(asm, READS_CODE);

  // rsi: vectors of this process; rdx: their number.
  const [isElsewhere, areNone] = [asm.label(), asm.label()];
  asm.bind(moves);
  asm.put("cmp", 4, RAX, SYSTEM_CALL.processVmWritev);
  asm.jump(isElsewhere, "ne");
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  eachVector(asm, { keep: areNone, ends }, () => asm.call(has));
  asm.bind(areNone);
  for (const register of [...KEPT, RAX].toReversed()) asm.put("pop", 8, register);
  // r10: vectors of the other process; r8: their number. The other process may be this one, or a copy of it.
  asm.bind(isElsewhere);
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  asm.put("mov", 8, RSI, R10);
  asm.put("mov", 4, RDX, R8);
  eachVector(asm, { keep, ends }, () => asm.call(has));

  asm.bind(traces);
  for (const register of [...KEPT, RAX]) asm.put("push", 8, register);
  const isWord = asm.label();
  for (const request of PTRACE_WORDS) {
    asm.put("cmp", 4, RDI, request);
    asm.jump(isWord, "e");
  }
  asm.jump(keep);
  asm.bind(isWord);
  asm.put("mov", 8, RBX, RDX);
  asm.put("lea", 8, R8, place(RDX, 8));
  asm.call(has);
  asm.put("test", 4, RAX, RAX);
  asm.jump(ends, "ne");
  asm.jump(keep);
}

/**
 * Checks if memory from rbx to r8 contains code of a rewritten file (`has`) or of the program (`hasProgram`;
 * with esi 1, only in segments without the file header). eax gets 1 or 0. All registers of `KEPT` except rbx
 * and r8 are overwritten.
 */
function hasCode(asm: Assembler, has: Label, hasProgram: Label): void {
  const [check, nextMap, none, found] = Array.from({ length: 4 }, () => asm.label());
  asm.bind(hasProgram);
  asm.put("mov", 8, R9, place(undefined, PROGRAM_HEADERS));
  asm.put("mov", 4, R10, place(undefined, HEADER_COUNT));
  asm.put("mov", 8, RDI, place(undefined, PROGRAM_BIAS));
  asm.jump(check);
  asm.bind(has);
  asm.put("xor", 4, RSI, RSI);
  asm.call(hasProgram);
  asm.put("test", 4, RAX, RAX);
  asm.jump(found, "ne");
  // The first object is the program.
  asm.put("lea", 8, RDX, relative(SYMBOL.objects));
  asm.put("mov", 8, RDX, place(RDX, FIRST_MAP));
  asm.put("test", 8, RDX, RDX);
  asm.jump(none, "e");
  asm.bind(nextMap);
  asm.put("mov", 8, RDX, place(RDX, NEXT_MAP));
  asm.put("test", 8, RDX, RDX);
  asm.jump(none, "e");
  asm.put("mov", 8, RDI, place(RDX));
  asm.put("test", 8, RDI, RDI);
  asm.jump(nextMap, "e");
  asm.put("cmp", 4, place(RDI), ELF_MAGIC);
  asm.jump(nextMap, "ne");
  asm.put("mov", 8, R9, place(RDI, E_PHOFF));
  asm.put("add", 8, R9, RDI);
  asm.put("movzx.w", 4, R10, place(RDI, E_PHNUM));
  asm.call(check);
  asm.put("test", 4, RAX, RAX);
  asm.jump(nextMap, "e");
  asm.bind(found);
  asm.put("ret", 4);
  asm.bind(none);
  asm.put("xor", 4, RAX, RAX);
  asm.put("ret", 4);
  asm.bind(check);
  hasCodeOf(asm);
}

/** Writes the check of `hasCode` for one object: r10 program headers at r9, load bias in rdi. */
function hasCodeOf(asm: Assembler): void {
  const [nothing, isMarked, next, nextSegment, isAny] = Array.from({ length: 5 }, () => asm.label());
  asm.put("mov", 8, RCX, R9);
  asm.put("mov", 4, R11, R10);
  const headers = asm.here();
  asm.put("test", 4, R11, R11);
  asm.jump(nothing, "e");
  asm.put("cmp", 4, place(RCX), PT_REWRITTEN);
  asm.jump(next, "ne");
  asm.put("cmp", 8, place(RCX, P_VADDR), 0);
  asm.jump(isMarked, "ne");
  asm.bind(next);
  asm.put("add", 8, RCX, PROGRAM_HEADER_BYTES);
  asm.put("sub", 4, R11, 1);
  asm.jump(headers);
  asm.bind(nothing);
  asm.put("xor", 4, RAX, RAX);
  asm.put("ret", 4);

  asm.bind(isMarked);
  const segments = asm.here();
  asm.put("test", 4, R10, R10);
  asm.jump(nothing, "e");
  asm.put("cmp", 4, place(R9), PT_LOAD);
  asm.jump(nextSegment, "ne");
  asm.put("test", 4, place(R9, P_FLAGS), PF_X);
  asm.jump(nextSegment, "e");
  asm.put("test", 4, RSI, RSI);
  asm.jump(isAny, "e");
  asm.put("cmp", 8, place(R9, P_OFFSET), 0);
  asm.jump(nextSegment, "e");
  asm.bind(isAny);
  asm.put("mov", 8, RCX, place(R9, P_VADDR));
  asm.put("add", 8, RCX, RDI);
  asm.put("mov", 8, R11, RCX);
  asm.put("add", 8, R11, place(R9, P_MEMSZ));
  asm.put("cmp", 8, RCX, R8);
  asm.jump(nextSegment, "ae");
  asm.put("cmp", 8, RBX, R11);
  asm.jump(nextSegment, "ae");
  asm.put("mov", 4, RAX, 1);
  asm.put("ret", 4);
  asm.bind(nextSegment);
  asm.put("add", 8, R9, PROGRAM_HEADER_BYTES);
  asm.put("sub", 4, R10, 1);
  asm.jump(segments);
}

/** Writes a line to standard error, and ends the process. */
function endWith(asm: Assembler, line: string): void {
  const text = new TextEncoder().encode(line);
  asm.put("mov", 4, RDI, STDERR);
  asm.put("lea", 8, RSI, relative(asm.literal(text)));
  asm.put("mov", 4, RDX, text.length);
  systemCall(asm, WRITE);
  exitWith(asm, REFUSED);
}
