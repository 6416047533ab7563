import {
  type Assembler,
  type Label,
  place,
  R8,
  R9,
  R10,
  RBP,
  RCX,
  RDI,
  RDX,
  RSI,
} from "../../../../../code/x64/index.ts";
import { PAGE_BYTES } from "../../../../../ground/bytes/sizes.ts";
import { ADDRESS_BITS, SHADOW } from "../layout.ts";
import { putMarks } from "../snippet.ts";

/** Limit of the kernel for one read or write. */
export const MOST_BYTES = 0x7fff_f000;
/** Limit of the kernel for vectors or messages of a call. */
const MOST_VECTORS = 1024;
/** Limits of a text, and of texts in a list. */
const [MOST_TEXT, MOST_TEXTS] = [4096, 65_536];
const [WORD_BYTES, FOUR_WORDS, POINTER_BYTES] = [2, 8, 8];
const [VECTOR_SHIFT, VECTOR_BYTES, VECTOR_LENGTH] = [4, 16, 8];
const MESSAGE = {
  name: 0,
  nameBytes: 8,
  vectors: 16,
  vectorCount: 24,
  control: 32,
  controlBytes: 40,
  bytes: 56,
  length: 56,
  lengthBytes: 4,
  eachBytes: 64,
} as const;

/**
 * Routines that mark memory accessed by a system call as read. Each overwrites rdx, rsi and rdi, and the registers
 * named.
 */
export interface ReachedMemory {
  /** rsi bytes from rdi on, if the number is valid. */
  bytes: Label;
  /**
   * r8 vectors from rdi on, and the first rbp bytes of their ranges. Subtracts these bytes from rbp. Overwrites r8 and
   * r9.
   */
  vectors: Label;
  /**
   * The message at rdi, and the first rbp bytes of its vectors. Overwrites r8 and r9, and leaves its address in r10.
   */
  message: Label;
  /** r8 messages from rdi on. Overwrites rcx and r8 to r10. */
  messages: Label;
  text: Label;
  /** The texts of the pointers from rdi on. Overwrites rcx and r9. */
  texts: Label;
}

export function reachedMemory(asm: Assembler): ReachedMemory {
  const bytes = bytesRoutine(asm);
  const vectors = vectorsRoutine(asm, bytes);
  const message = messageRoutine(asm, bytes, vectors);
  const messages = messagesRoutine(asm, bytes, message);
  const text = textRoutine(asm);
  const texts = textsRoutine(asm, bytes, text);
  return { bytes, vectors, message, messages, text, texts };
}

function fold(asm: Assembler, register: typeof RDI): void {
  asm.put("shl", 8, register, 64 - ADDRESS_BITS);
  asm.put("shr", 8, register, 63 - ADDRESS_BITS);
}

function bytesRoutine(asm: Assembler): Label {
  const routine = asm.here();
  const [out, words, four] = [asm.label(), asm.label(), asm.label()];
  asm.put("test", 8, RDI, RDI);
  asm.jump(out, "e");
  asm.put("lea", 8, RDX, place(RSI, -1));
  asm.put("cmp", 8, RDX, MOST_BYTES);
  asm.jump(out, "ae");
  fold(asm, RDI);
  asm.bind(four);
  asm.put("cmp", 8, RSI, FOUR_WORDS / WORD_BYTES);
  asm.jump(words, "b");
  asm.put("mov", 8, place(RDI, SHADOW), -1);
  putMarks(asm.put.bind(asm), { folded: RDI, bytes: FOUR_WORDS / WORD_BYTES, scratch: RDX });
  asm.put("add", 8, RDI, FOUR_WORDS);
  asm.put("sub", 8, RSI, FOUR_WORDS / WORD_BYTES);
  asm.jump(four);
  asm.bind(words);
  asm.put("test", 8, RSI, RSI);
  asm.jump(out, "e");
  asm.put("mov", 2, place(RDI, SHADOW), -1);
  putMarks(asm.put.bind(asm), { folded: RDI, bytes: 1, scratch: RDX });
  asm.put("add", 8, RDI, WORD_BYTES);
  asm.put("sub", 8, RSI, 1);
  asm.jump(words);
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

function unlessNothing(asm: Assembler, out: Label): void {
  // The first page is never mapped. A pointer into it is an error of the program, which the kernel reports.
  asm.put("cmp", 8, RDI, PAGE_BYTES);
  asm.jump(out, "b");
}

/** Jumps if rdi is no valid pointer, or if r8 is no valid number of elements. */
function unlessMany(asm: Assembler, out: Label): void {
  unlessNothing(asm, out);
  asm.put("lea", 8, RDX, place(R8, -1));
  asm.put("cmp", 8, RDX, MOST_VECTORS);
  asm.jump(out, "ae");
}

function vectorsRoutine(asm: Assembler, bytes: Label): Label {
  const routine = asm.here();
  const [out, each] = [asm.label(), asm.label()];
  unlessMany(asm, out);
  asm.put("mov", 8, R9, RDI);
  asm.put("mov", 8, RSI, R8);
  asm.put("shl", 8, RSI, VECTOR_SHIFT);
  asm.call(bytes);
  asm.bind(each);
  asm.put("mov", 8, RDI, place(R9));
  asm.put("mov", 8, RSI, place(R9, VECTOR_LENGTH));
  asm.put("cmp", 8, RSI, RBP);
  asm.put("cmova", 8, RSI, RBP);
  asm.put("sub", 8, RBP, RSI);
  asm.call(bytes);
  asm.put("add", 8, R9, VECTOR_BYTES);
  asm.put("sub", 8, R8, 1);
  asm.jump(each, "ne");
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

function messageRoutine(asm: Assembler, bytes: Label, vectors: Label): Label {
  const routine = asm.here();
  const out = asm.label();
  asm.put("mov", 8, R10, RDI);
  unlessNothing(asm, out);
  asm.put("mov", 4, RSI, MESSAGE.bytes);
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R10, MESSAGE.name));
  asm.put("mov", 4, RSI, place(R10, MESSAGE.nameBytes));
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R10, MESSAGE.control));
  asm.put("mov", 8, RSI, place(R10, MESSAGE.controlBytes));
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R10, MESSAGE.vectors));
  asm.put("mov", 8, R8, place(R10, MESSAGE.vectorCount));
  asm.call(vectors);
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

function messagesRoutine(asm: Assembler, bytes: Label, message: Label): Label {
  const routine = asm.here();
  const [out, each] = [asm.label(), asm.label()];
  unlessMany(asm, out);
  asm.put("mov", 8, RCX, R8);
  asm.bind(each);
  asm.call(message);
  asm.put("lea", 8, RDI, place(R10, MESSAGE.length));
  asm.put("mov", 4, RSI, MESSAGE.lengthBytes);
  asm.call(bytes);
  asm.put("lea", 8, RDI, place(R10, MESSAGE.eachBytes));
  asm.put("sub", 8, RCX, 1);
  asm.jump(each, "ne");
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

/**
 * Marks a text as read. Memory that was never stored to is not loaded, since it may be unmapped. Such a text ends at a
 * stored zero, or at the end of a page after which it is not known to continue.
 */
function textRoutine(asm: Assembler): Label {
  const routine = asm.here();
  const [out, loop, next, untouched, single] = Array.from({ length: 5 }, () => asm.label());
  unlessNothing(asm, out);
  asm.put("mov", 8, RDX, RDI);
  fold(asm, RDX);
  asm.put("lea", 8, RSI, place(RDI, MOST_TEXT));
  asm.bind(loop);
  asm.put("cmp", 2, place(RDX, SHADOW), 0);
  asm.jump(untouched, "e");
  asm.put("mov", 2, place(RDX, SHADOW), -1);
  putMarks(asm.put.bind(asm), { folded: RDX, bytes: 1, scratch: R10 });
  asm.put("cmp", 1, place(RDI), 0);
  asm.jump(out, "e");
  asm.put("add", 8, RDI, 1);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.bind(next);
  asm.put("cmp", 8, RDI, RSI);
  asm.jump(loop, "b");
  asm.bind(out);
  asm.put("ret", 8);

  asm.bind(untouched);
  const [four, inPage] = [FOUR_WORDS / WORD_BYTES, PAGE_BYTES - 1];
  asm.put("test", 4, RDI, four - 1);
  asm.jump(single, "ne");
  asm.put("cmp", 8, place(RDX, SHADOW), 0);
  asm.jump(single, "ne");
  asm.put("add", 8, RDI, four - 1);
  asm.put("add", 8, RDX, FOUR_WORDS - WORD_BYTES);
  asm.bind(single);
  asm.put("add", 8, RDI, 1);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.put("test", 4, RDI, inPage);
  asm.jump(out, "e");
  asm.jump(next);
  return routine;
}

function textsRoutine(asm: Assembler, bytes: Label, text: Label): Label {
  const routine = asm.here();
  const [out, each] = [asm.label(), asm.label()];
  unlessNothing(asm, out);
  asm.put("mov", 8, R9, RDI);
  asm.put("mov", 4, RCX, MOST_TEXTS);
  asm.bind(each);
  asm.put("mov", 8, RDI, R9);
  asm.put("mov", 4, RSI, POINTER_BYTES);
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R9));
  unlessNothing(asm, out);
  asm.call(text);
  asm.put("add", 8, R9, POINTER_BYTES);
  asm.put("sub", 4, RCX, 1);
  asm.jump(each, "ne");
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

/** Kinds of memory that a system call accesses through a pointer. */
export const KIND = {
  bytes: 0,
  /** Another argument is the number of units; a unit is a number of bytes. */
  argument: 1,
  /** A bit set in words of 8 bytes; another argument is the number of bits. */
  bits: 2,
  /** Another argument points to a 32-bit number of bytes. */
  lengthAt: 3,
  /**
   * An array of `struct iovec` with its ranges; another argument is its length. The call's result limits the bytes if
   * it is known.
   */
  vectors: 4,
  /** A `struct msghdr` with its ranges. The call's result limits the bytes of its vectors if it is known. */
  message: 5,
  /** An array of `struct mmsghdr` with their ranges; another argument is its length. */
  messages: 6,
  /** Bytes up to a zero. */
  text: 7,
  /** Pointers to texts, up to a null pointer. */
  texts: 8,
  /**
   * An `ioctl` request, another argument, encodes the number of bytes. The call may access further memory, which is
   * unknown.
   */
  request: 9,
  none: 10,
  /** Same as `argument`, but the call's result limits the number of units if it is known. */
  returned: 11,
} as const;

/**
 * A pointer argument, and the memory that it leads to. Arguments are numbered from 0 to 5. `bytes`: bytes, or bytes of a
 * unit. `when`: only if another argument has this value.
 */
interface Reached {
  readonly kind: keyof typeof KIND;
  readonly pointer: number;
  readonly other: number;
  readonly bytes: number;
  readonly when?: { readonly argument: number; readonly value: number };
}

const reach = (kind: Reached["kind"], pointer: number, other = 0, bytes = 0): Reached => ({
  kind,
  pointer,
  other,
  bytes,
});
const at = (pointer: number, bytes: number) => reach("bytes", pointer, 0, bytes);
const counted = (pointer: number, argument: number, unit = 1) => reach("argument", pointer, argument, unit);
const returned = (pointer: number, argument: number, unit = 1) => reach("returned", pointer, argument, unit);
const text = (pointer: number) => reach("text", pointer);
const texts = (pointer: number) => reach("texts", pointer);
const bits = (pointer: number, count: number) => reach("bits", pointer, count);
const vectors = (pointer: number, count: number) => reach("vectors", pointer, count);
const NONE = reach("none", 0);

/** A socket address, and its length, which the call changes. */
const address = (pointer: number, length: number) => [reach("lengthAt", pointer, length), at(length, 4)];

/** Restricts a row to some values of an argument. */
const when = (argument: number, values: readonly number[], reached: Reached): Reached[] =>
  values.map((value) => ({ ...reached, when: { argument, value } }));

const [STAT_BYTES, USAGE_BYTES, SIGNAL_BYTES, STATFS_BYTES, TIME_BYTES, TIMES_BYTES] = [
  144, 144, 128, 120, 16, 32,
] as const;
const EVENT_BYTES = 12;
/** `futex` operations that wait, with a timeout in the fourth argument. */
const WAITS = [0, 6, 9, 11, 13].flatMap((operation) =>
  [0, 0x80, 0x100, 0x180].map((flags) => operation | flags),
);
/** Requests of terminals, pipes and sockets that do not encode a size. */
const TERMINAL = [0x5401, 0x5402, 0x5403, 0x5404];
const WINDOW = [0x5413, 0x5414];
const NUMBER = [0x540f, 0x5410, 0x5411, 0x541b, 0x5421, 0x5429, 0x5452];
const INTERFACE = [0x8910, 0x8913, 0x8914, 0x8915, 0x8919, 0x891b, 0x8921, 0x8927, 0x8933];
const NOTHING = [0x5409, 0x540b, 0x540e, 0x5422, 0x5450, 0x5451];
/** `prctl`: names of threads and of memory, and the signal at a parent's end. `fcntl`: locks and owners. */
const [NAMES, MEMORY_NAME, PARENTS_END] = [[15, 16], [0x53564d41], [2]];
const [LOCKS, OWNERS] = [
  [5, 6, 7, 36, 37, 38],
  [15, 16],
];

const like = (numbers: readonly number[], ...reached: Reached[]): [number, readonly Reached[]][] =>
  numbers.map((number) => [number, reached]);

/**
 * Memory that system calls of Linux on x86-64 access, by call number. The list is empty for calls that access none. The
 * largest range that a call may access is marked before the call. If the number is known at rewriting, ranges that
 * depend on the result are marked after it.
 */
const SYSTEM_CALLS: ReadonlyMap<number, readonly Reached[]> = new Map<number, readonly Reached[]>([
  // Open files: read, write, readv, writev and their variants, sendfile, splice, copy_file_range, getdents.
  ...like([0, 1, 17, 18, 78, 217], returned(1, 2)),
  ...like([19, 20, 278, 295, 296, 327, 328], vectors(1, 2)),
  ...like([40], at(2, 8)),
  ...like([275, 326], at(1, 8), at(3, 8)),
  ...like([3, 8, 32, 33, 73, 74, 75, 77, 81, 91, 93, 187, 221, 276, 277, 285, 292, 306, 436]),
  ...like([5], at(1, STAT_BYTES)),
  ...like([138], at(1, STATFS_BYTES)),
  ...like([22, 293], at(0, 8)),
  [72, [...when(1, LOCKS, at(2, 32)), ...when(1, OWNERS, at(2, 8)), NONE]],
  [
    16,
    [
      ...when(1, TERMINAL, at(2, 36)),
      ...when(1, WINDOW, at(2, 8)),
      ...when(1, NUMBER, at(2, 4)),
      ...when(1, INTERFACE, at(2, 40)),
      ...when(1, NOTHING, NONE),
      reach("request", 2, 1),
    ],
  ],
  // Files by name: open, access, chdir, mkdir, unlink, …, then the calls whose name follows a folder.
  ...like([2, 21, 76, 80, 83, 84, 85, 87, 90, 92, 94, 133, 161, 163, 166, 240, 241, 319], text(0)),
  ...like([254, 257, 258, 259, 260, 263, 268, 269, 439, 452], text(1)),
  ...like([82, 86, 88, 155], text(0), text(1)),
  ...like([264, 265, 316], text(1), text(3)),
  ...like([266], text(0), text(2)),
  ...like([4, 6], text(0), at(1, STAT_BYTES)),
  ...like([262], text(1), at(2, STAT_BYTES)),
  ...like([332], text(1), at(4, 256)),
  ...like([137], text(0), at(1, STATFS_BYTES)),
  ...like([79], returned(0, 1)),
  ...like([89, 194, 195], text(0), returned(1, 2)),
  ...like([267], text(1), returned(2, 3)),
  ...like([437], text(1), counted(2, 3)),
  ...like([132], text(0), at(1, 16)),
  ...like([235], text(0), at(1, TIMES_BYTES)),
  ...like([261, 280], text(1), at(2, TIMES_BYTES)),
  ...like([188, 189], text(0), text(1), counted(2, 3)),
  ...like([191, 192], text(0), text(1), returned(2, 3)),
  ...like([190], text(1), counted(2, 3)),
  ...like([193], text(1), returned(2, 3)),
  ...like([196], returned(1, 2)),
  ...like([197, 198], text(0), text(1)),
  ...like([199], text(1)),
  ...like([165], text(0), text(1), text(2)),
  // Waiting for files: poll, select, epoll, inotify, events.
  ...like([7], counted(0, 1, 8)),
  ...like([271], counted(0, 1, 8), at(2, TIME_BYTES), counted(3, 4)),
  ...like([23], bits(1, 0), bits(2, 0), bits(3, 0), at(4, TIME_BYTES)),
  ...like([270], bits(1, 0), bits(2, 0), bits(3, 0), at(4, TIME_BYTES), at(5, 16)),
  ...like([232], returned(1, 2, EVENT_BYTES)),
  ...like([281], returned(1, 2, EVENT_BYTES), counted(4, 5)),
  ...like([441], returned(1, 2, EVENT_BYTES), at(3, TIME_BYTES)),
  ...like([233], at(3, EVENT_BYTES)),
  ...like([213, 253, 255, 283, 284, 290, 291, 294]),
  ...like([282, 289], counted(1, 2)),
  // Sockets.
  ...like([41, 48, 50]),
  ...like([42, 49], counted(1, 2)),
  ...like([43, 51, 52, 288], ...address(1, 2)),
  ...like([44], returned(1, 2), counted(4, 5)),
  ...like([45], returned(1, 2), ...address(4, 5)),
  ...like([46, 47], reach("message", 1)),
  ...like([299], reach("messages", 1, 2), at(4, TIME_BYTES)),
  ...like([307], reach("messages", 1, 2)),
  ...like([53], at(3, 8)),
  ...like([54], counted(3, 4)),
  ...like([55], ...address(3, 4)),
  // Memory: mmap, mprotect, munmap, brk, mremap, madvise, locks, shared memory, and memory of other processes.
  ...like([9, 10, 11, 12, 25, 26, 28, 29, 30, 67, 149, 150, 151, 152, 324, 325, 329, 330, 331]),
  ...like([31], at(2, 112)),
  ...like([310, 311], vectors(1, 2), counted(3, 4, 16)),
  // Signals.
  ...like([15, 37, 34, 62, 200, 234]),
  ...like([13], at(1, 32), at(2, 32)),
  ...like([14], counted(1, 3), counted(2, 3)),
  ...like([127, 130], counted(0, 1)),
  ...like([128], counted(0, 3), at(1, SIGNAL_BYTES), at(2, TIME_BYTES)),
  ...like([129, 424], at(2, SIGNAL_BYTES)),
  ...like([297], at(3, SIGNAL_BYTES)),
  ...like([131], at(0, 24), at(1, 24)),
  // Times and timers.
  ...like([35], at(0, TIME_BYTES), at(1, TIME_BYTES)),
  ...like([36, 224, 287], at(1, TIMES_BYTES)),
  ...like([38], at(1, TIMES_BYTES), at(2, TIMES_BYTES)),
  ...like([96], at(0, TIME_BYTES), at(1, 8)),
  ...like([100], at(0, 32)),
  ...like([164], at(0, TIME_BYTES), at(1, 8)),
  ...like([201], at(0, 8)),
  ...like([222], at(1, 64), at(2, 4)),
  ...like([223, 286], at(2, TIMES_BYTES), at(3, TIMES_BYTES)),
  ...like([225, 226]),
  ...like([227, 228, 229], at(1, TIME_BYTES)),
  ...like([230], at(2, TIME_BYTES), at(3, TIME_BYTES)),
  // Processes and threads: clone, fork, exec, wait, futex, identities and limits.
  ...like([57, 58, 60, 135, 186, 218, 219, 231, 272, 273, 308, 334, 434, 438]),
  ...like([56], at(2, 4), at(3, 4)),
  ...like([435], counted(0, 1)),
  ...like([59], text(0), texts(1), texts(2)),
  ...like([322], text(1), texts(2), texts(3)),
  ...like([61], at(1, 4), at(3, USAGE_BYTES)),
  ...like([247], at(2, SIGNAL_BYTES), at(4, USAGE_BYTES)),
  [202, [at(0, 4), ...when(1, WAITS, at(3, TIME_BYTES))]],
  ...like([274], at(1, 8), at(2, 8)),
  ...like([24, 39, 102, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 117, 119, 121, 122, 123, 124]),
  ...like([95, 140, 141, 145, 146, 147, 158, 251, 252]),
  ...like([115], returned(1, 0, 4)),
  ...like([116], counted(1, 0, 4)),
  ...like([118, 120], at(0, 4), at(1, 4), at(2, 4)),
  ...like([125, 126], at(0, 8), at(1, 24)),
  ...like([142, 143], at(1, 4)),
  ...like([144], at(2, 4)),
  ...like([148], at(1, TIME_BYTES)),
  ...like([203], counted(2, 1)),
  ...like([204], returned(2, 1)),
  ...like([314], at(1, 56)),
  ...like([315], counted(1, 2)),
  [
    157,
    [...when(0, NAMES, at(1, 16)), ...when(0, PARENTS_END, at(1, 4)), ...when(0, MEMORY_NAME, text(4)), NONE],
  ],
  ...like([97, 160], at(1, 16)),
  ...like([302], at(2, 16), at(3, 16)),
  ...like([98], at(1, USAGE_BYTES)),
  // System: uname, sysinfo, syslog, sethostname, getcpu, getrandom.
  ...like([63], at(0, 390)),
  ...like([99], at(0, 112)),
  ...like([103], returned(1, 2)),
  ...like([170, 171], counted(0, 1)),
  ...like([318], returned(0, 1)),
  ...like([309], at(0, 4), at(1, 4)),
  // Queues and semaphores between processes; asynchronous input and output.
  ...like([64, 68, 153, 162, 207]),
  ...like([65], counted(1, 2, 6)),
  ...like([71], at(2, 120)),
  ...like([242], counted(1, 2), at(4, TIME_BYTES)),
  ...like([243], returned(1, 2), at(3, 4), at(4, TIME_BYTES)),
  ...like([244], at(1, 64)),
  ...like([245], at(1, 64), at(2, 64)),
  ...like([206], at(1, 8)),
  ...like([208], returned(3, 2, 32), at(4, TIME_BYTES)),
  ...like([425], at(1, 120)),
]);

/**
 * Layout of a row: value of `when` and bytes, u32 each; pointer, kind, other argument, and argument of `when`, u8 each.
 */
export const ROW = { value: 0, bytes: 4, pointer: 8, kind: 9, other: 10, when: 11 } as const;
export const ROW_BYTES = 12;
/** Argument of `when` in a row that always applies. */
export const ALWAYS = 0xff;

/**
 * Returns the table of rows. `first`: a u16 per number and one more, the index of a call's first row. An unknown call
 * has no rows. `count`: number of calls.
 */
export function systemCallTable(): { rows: Uint8Array; first: Uint8Array; count: number } {
  const count = 1 + Math.max(...SYSTEM_CALLS.keys());
  const first = new DataView(new ArrayBuffer(2 * (count + 1)));
  const rows: number[] = [];
  for (let number = 0; number < count; number++) {
    first.setUint16(2 * number, rows.length / ROW_BYTES, true);
    const reached = SYSTEM_CALLS.get(number);
    if (reached?.length === 0) rows.push(...rowOf(NONE));
    for (const entry of reached ?? []) rows.push(...rowOf(entry));
  }
  first.setUint16(2 * count, rows.length / ROW_BYTES, true);
  return { rows: Uint8Array.from(rows), first: new Uint8Array(first.buffer), count };
}

function rowOf({ kind, pointer, other, bytes, when }: Reached): Uint8Array {
  const row = new DataView(new ArrayBuffer(ROW_BYTES));
  row.setUint32(ROW.value, when?.value ?? 0, true);
  row.setUint32(ROW.bytes, bytes, true);
  row.setUint8(ROW.pointer, pointer);
  row.setUint8(ROW.kind, KIND[kind]);
  row.setUint8(ROW.other, other);
  row.setUint8(ROW.when, when?.argument ?? ALWAYS);
  return new Uint8Array(row.buffer);
}

/** True if a call returns the number of bytes that it accessed. */
export function returnsLength(number: number): boolean {
  const reached = SYSTEM_CALLS.get(number) ?? [];
  return reached.some(({ kind }) => kind === "returned" || kind === "vectors" || kind === "message");
}
