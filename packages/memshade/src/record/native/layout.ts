import { CONTROL_BYTES, RECORD_BYTES, SLOT_BYTES } from "../tools/heap/layout.ts";
import { placeTables } from "../tools/heap/place-tables.ts";

// Where things are in the memory that the runtime has in a native program, for the code that fills it and for the one that reads it
// from outside. It is linear memory of 4 GiB, zero at the start; pages that are never touched cost nothing. README.md has a drawing.

const MIB = 2 ** 20;
/** Calling contexts that are kept, and live blocks. */
const CONTEXTS = 256 * 1024;
const RECORDS = 16 * MIB;
const HEADER_BYTES = 64 * 1024;

/** What the parent looks at first, at address 0. */
export const Header = {
  magic: 0,
  version: 4,
  /** 0 free, 1 taken, 2 taken and somebody waits. */
  lock: 8,
  /** Not 0 while tables are changing. */
  changing: 12,
  /** Of the process that opened the memory; a child that was forked has another memory. */
  process: 16,
  threads: 20,
  modules: 24,
  /** Site numbers that modules have so far. */
  sites: 28,
  /** Rises when rules of addresses have changed: an object is gone, or has got its tables. */
  epoch: 32,
  /** Objects whose tables were looked for in vain. */
  wanted: 36,
  /** The parent raises it when there are more tables. */
  tablesTurn: 40,
  /** How long a thread waits for tables of an object that it meets, ms; 0 where nobody makes any. */
  tablesWait: 44,
  /** Times that a lock was not had in time. */
  abandoned: 48,
  /** A dump that the parent asks for, and the one that is being held for it. */
  request: 52,
  answered: 56,
  /** Threads that found no room. */
  threadsRefused: 60,
  /** u64: calls of the allocator from inside of its hooks, or for want of a lock, of which nothing is recorded. */
  unrecorded: 64,
  /** u64: stacks that were cut at their root's side, and stacks that ended where nothing led on. */
  cutStacks: 72,
  lostStacks: 80,
  /** u64: nanoseconds of the monotonic clock at the start. */
  start: 88,
  /** Index of the last bucket that large blocks are found in. */
  lastBucket: 96,
  /** Parts of the address space that have regions. */
  parts: 112,
  /** Why the memory has no file: an errno. */
  failure: 100,
  /** Modules that code may be found in: those that are not gone. */
  present: 104,
  /** Bytes of modules' names so far. */
  names: 108,
  /** Calls inside of recursion that new call paths go without, as these were very many. */
  foldedCalls: 116,
  // Which process it is.
  /** The process that it was forked from; 0: it began with its program. */
  parent: 512,
  /** Bytes of the program's path and of its arguments, a zero behind each of these. */
  programBytes: 516,
  commandBytes: 520,
  /** Ranges that the program has mapped itself. */
  mappings: 524,
  /** u64: calls of the allocator before there was a memory. */
  early: 528,
  /** u64: addresses of the allocator's object, where they were asked for. */
  allocatorStart: 536,
  allocatorEnd: 544,
  /** u64: ranges that were mapped of 4 GiB and more, and their bytes. */
  largeRanges: 552,
  largeRangeBytes: 560,
  /** Not 0: accesses are counted. */
  isCounting: 568,
  /** Why nobody else sees the counters: an errno. */
  countersFailure: 572,
  /** u64: an address near the upper end of the stack that the program began on. */
  stackTop: 576,
  /** Not 0: nothing is recorded any more. */
  isOver: 584,
  // The program has ended, and is held while the parent looks at its memory.
  /** How far that is: `Wish`; the parent's answer: `Answer`; and what the parent raises now and then meanwhile. */
  wish: 588,
  answer: 592,
  sign: 596,
  /** u64: of the thread that ends the program, from where on its stack is in use. */
  endStack: 600,
  /** 16 bytes for a time. */
  pause: 608,
  /** The process that looks. */
  watcher: 624,
  /** The thread that ends the program. */
  endThread: 628,
  /** Not 0: with the next dump a copy of the process is asked for; which process that is, or the negative of an errno; what has made it. */
  copyAsked: 632,
  copy: 636,
  copier: 640,
  /** 16 bytes for a time of the copy's. */
  copyPause: 648,
  /** Not 0: the allocator has said what it holds, ten u64 as `mallinfo2` gives them: `AllocatorWord`. */
  isAllocatorAsked: 664,
  allocator: 672,
  /** A byte per page of counters that was asked about last. */
  touched: 28672,
  program: 16384,
  command: 20480,
} as const;
/** Bytes of a program's path, and of its arguments, that are kept. */
export const MOST_PROGRAM_BYTES = 4096;
export const HEADER_MAGIC = 0x4853_4d4e;
export const HEADER_VERSION = 4;

/** `asked`: of a process that may be another one, which shares its memory; `sure`: it is this one; `over`: it waits no more. */
export const Wish = { none: 0, asked: 1, sure: 2, over: 3 } as const;
/** `mayCall`: system calls are not forbidden to it; `done`: it may go on. */
export const Answer = { none: 0, mayCall: 1, done: 2 } as const;

/** What a module's number of sites begins with; below are marks in the place of a site. */
export const Site = {
  /** The root's side was cut off. */
  cut: 1,
  /** Nothing led on. */
  lost: 2,
  /** No room for one more module. */
  unknown: 3,
  first: 16,
} as const;

/** A range of addresses with code: an object, or a piece of memory that a compiler at run time has filled. Never changed but for `table`. */
export const Module = {
  /** u64: addresses in the process, and behind the last one. */
  start: 0,
  end: 8,
  /** u64: address in the process minus address in the object. */
  bias: 16,
  /** u64: where its tables are mapped; 0: nowhere. */
  table: 24,
  /** The site of its first address. */
  site: 32,
  /** `ModuleKind` */
  kind: 36,
  /** `Header.tablesTurn` when its tables were looked for last. */
  turn: 40,
  /** Bytes of the build id; 0 where there is none: then a sum of what the object's tables are made of is in its place, or zeros. */
  buildIdBytes: 44,
  buildId: 48,
  /** Bytes of the object's name, and where they are among the names. */
  nameBytes: 68,
  /** u64: allocations before it was seen. */
  time: 72,
  name: 80,
  /** u64: what tells a rewritten file from its original; 0: it is none. */
  mark: 88,
} as const;
export const MODULE_BYTES = 96;
export const MOST_BUILD_ID_BYTES = 20;
/** Words of 32 bits in the sum that stands for a build id. */
export const SUM_WORDS = 4;
/** `s`, before the digits of a sum in the name of a file of tables. */
export const SUM_LETTER = 115;
/** `.`, before the mark of a rewritten file in the name of its tables. */
export const MARK_SEPARATOR = 46;
/** A program header of a rewritten file, whose address is that mark. */
export const REWRITTEN_HEADER = 0x6d73_6864;
export const MOST_MODULES = 16384;
/** `piece`: no object; `gone`: what was here has been unloaded. */
export const ModuleKind = { object: 1, piece: 2, gone: 3 } as const;
/** Bits of an address within a piece. */
export const PIECE_BITS = 16;

/** A thread, from its first allocation on. */
export const Thread = {
  /** As the kernel counts threads. */
  id: 0,
  /** How the last walk ended: `WalkEnd`. */
  end: 4,
  /** Frames of the last stack, and how many of them, from the root on, have nodes. */
  frames: 8,
  settled: 12,
  epoch: 20,
  /** Whether the block that was taken out for a reallocation began last of the large ones. */
  parkedYoungest: 24,
  /** 16 bytes: its name when it allocated first. */
  name: 32,
  /** u64: what it has allocated. */
  blocks: 48,
  bytes: 56,
  /** The record of the block that a reallocation has taken out; 0: none. */
  parked: 64,
  /** Of its counters, which were taken out too: accesses, u64; granules that had some, and a bit if there were reads. */
  parkedAccesses: 72,
  parkedTouched: 80,
  parkedFlags: 84,
  /** 32 bytes for times. */
  room: 96,
  stack: 256,
} as const;
/** Behind the 32 bytes for times: not 0 where the tables' lock may not be waited for, because the thread itself may have it. */
export const ROOM_MAY_NOT_WAIT = 32;
export const WalkEnd = { whole: 0, cut: 1, lost: 2 } as const;
export const MOST_FRAMES = 1024;
export const MOST_THREADS = 1024;

/**
 * A frame of a thread's stack: where its return address is, that address, the frame pointer behind the return, and what is known of its
 * context. A place is that of the word below the stack pointer behind the return.
 */
export const StackFrame = {
  /** u64 */
  place: 0,
  /** u64 */
  address: 8,
  /** u64 */
  framePointer: 16,
  /** The site; where it was settled, the node of the calling context tree. */
  site: 24,
  /** Where the frame pointer was saved, words below the CFA; 0: it was not. And `Link`. */
  link: 28,
} as const;
export const STACK_FRAME_BYTES = 32;
export const Link = {
  wordsMask: 0x7ff,
  /** The frame pointer of the frame that it was called from led to it. */
  byPointer: 0x1000_0000,
  /** Frames further out depend on its frame pointer: only then does it matter what that is. */
  needed: 0x2000_0000,
  /** More words than these were read to find the frame. */
  unchecked: 0x4000_0000,
  /** It was interrupted, not called. */
  interrupted: 0x8000_0000,
} as const;
/** Of a thread: behind its last stack, root first, what is being walked, innermost first. */
export const WALKED = Thread.stack + MOST_FRAMES * STACK_FRAME_BYTES;
/** Two frames more: one that may be too many, and one to try on. */
export const THREAD_BYTES = WALKED + (MOST_FRAMES + 2) * STACK_FRAME_BYTES;

/** Thread-local words of the image. */
export const Tls = {
  /** Not 0: the thread is in a hook. */
  guard: 0,
  /** Address of the `Thread`, and above it the process that it belongs to. */
  thread: 8,
} as const;

/** Words of the image that can be written, and paths with a zero behind each. */
export const Text = {
  /** What the number of the process is appended to. */
  memory: 0,
  /** What a build id is appended to. */
  tables: 2048,
  /** The image's own path, as the dynamic linker was told of it. */
  image: 4096,
  next: 7168,
  /** Not 0: the memory is being mapped. */
  opening: 7680,
  /** Not 0: the next definitions are known. */
  isBound: 7684,
  /** u64: address of the C library's byte that says whether there is one thread only; 0 where it has none. */
  isSingleThreaded: 7696,
  /** What `Header.tablesWait` begins with in the process that was started; its children have nobody who makes tables. */
  tablesWait: 7688,
  /** Names of functions whose next definition behind the image's own one is wanted; `next` has u64 words for their addresses. */
  names: 8192,
  /** The process that opened the memory last: in a child that was forked, its parent. */
  process: 12288,
  /** Not 0: child processes are recorded too. */
  children: 12292,
  /** u64: calls of the allocator while there was no memory yet. */
  early: 12296,
  /** Paths of the kernel's about the process: of its program, and its arguments. */
  program: 12304,
  command: 12336,
  /** Not 0: the program counts accesses, and the counters are mapped. */
  isCounting: 12400,
  /** Not 0: it follows which stores are read; 2: as deadstores counts. */
  isWaste: 12404,
  /** Ranges that others see too: addresses and sizes, u64; 0 behind the last one. */
  shared: 12408,
  /** Not 0: the first word of the first one becomes 1. */
  isWatched: 12472,
  /** Path of the kernel's: what the process has mapped. */
  maps: 12480,
  /** Where the function is that samples blocks, as a distance from here; and the word that inserted code calls it by, u64; 0: it does not. */
  sampleBlock: 12500,
  slowPath: 12504,
  /** Not 0: whose blocks are is noted, too. */
  isOwned: 12512,
  /** Not 0: the parent looks at the memory when the program ends. */
  isLookedAt: 12516,
  /** Where the functions are that run then, as distances from here: of all ways to the end, and the two that follow them. */
  atExit: 12520,
  endProgram: 12524,
  exitProgram: 12528,
  /** u64: addresses of the C library's functions. */
  exit: 12536,
  quickExit: 12544,
} as const;
export const MOST_SHARED = 4;
export const TEXT_BYTES = 12800;
/** Room for a name, and for how many; those that nobody wants are empty. */
export const NEXT_NAME_BYTES = 64;
export const NEXT_NAMES = 64;
/** Which of the words these are. */
export const NextWord = { findObject: 0, malloc: 1, exit: 2, allocatorInfo: 3 } as const;
/** Of what `mallinfo2` gives: which word has the bytes that the allocator has of the system, those of ranges of its own, what is free, and the end of that which it could give back. */
export const AllocatorWord = { arenas: 0, ranges: 4, free: 8, top: 9 } as const;

/**
 * A rule in 32 bits: how to get from a frame to its caller. From the lowest bit on: `RuleKind`, 3 bits; the offset of the CFA in words,
 * 16 bits; where the frame pointer was saved, words below the CFA, 11 bits, 0: it is unchanged.
 */
export const RuleKind = {
  /** No function is there that tables know. */
  none: 0,
  /** CFA = rsp + offset */
  stackPointer: 1,
  /** CFA = rbp + offset */
  framePointer: 2,
  /** CFA = *(rbp - offset); the frame pointer was saved at rbp + 8 times one less than the words: the stack was realigned. */
  saved: 3,
  /** There is no caller. */
  end: 4,
  /** Anything else, and where there are no tables. */
  other: 5,
  /** The trampoline behind a signal handler: the kernel has saved all registers. */
  signal: 6,
  /** An entry of a procedure linkage table: CFA = rsp + 8, and 8 more from its second instruction's end on. */
  linkage: 7,
} as const;
export const Rule = { kindMask: 7, cfaShift: 3, cfaMask: 0xffff, savedShift: 19, savedMask: 0x7ff } as const;

/** A file of tables, which is mapped as it is. Behind the head: first entry of each block of code, one more, the entries, the rules. */
export const TablesHead = {
  magic: 0,
  version: 4,
  /** Of all behind it, `SUM_WORDS` words: what is kept for long may be damaged. */
  sum: 8,
  /** u64: address in the object that the first block begins at. */
  base: 24,
  /** Blocks of 4 KiB of code; entries; rules. */
  blocks: 32,
  entries: 36,
  rules: 40,
} as const;
export const TABLES_HEAD_BYTES = 48;
export const TABLES_MAGIC = 0x5453_4d4e;
export const TABLES_VERSION = 2;
/** Blocks of so many bits. An entry has the place within its block, and above that the index of its rule; where a block has entries, one is for place 0. */
export const TABLE_BLOCK_BITS = 12;

/** Lookups of rules are kept here: u64 address exclusive-or rule, u64 rule. */
export const RULE_CACHE_BITS = 14;
export const CACHED_RULE_BYTES = 16;

/**
 * Bits of an address within its region, and within its slot: the GNU C library's smallest blocks take 32 bytes. Where others begin
 * nearer to each other, both have records. The slots of a region are a line of the cache.
 */
export const NATIVE_REGION_BITS = 8;
export const NATIVE_SLOT_BITS = 5;
export const NATIVE_REGION_SLOTS = 2 ** (NATIVE_REGION_BITS - NATIVE_SLOT_BITS) * SLOT_BYTES;
/** Bits of an address of a program. */
export const ADDRESS_BITS = 47;
/** Bits of an address within its part of the address space. A part is a u32 per region: where its slots are, 0 while it has none. */
export const PART_BITS = 20;
export const PART_BYTES = 2 ** (PART_BITS - NATIVE_REGION_BITS) * 4;
/** A part that has regions: its number, as the directory counts, and where it is. */
export const StartedPart = { number: 0, regions: 4 } as const;
export const STARTED_PART_BYTES = 8;
export const MOST_PARTS = 128 * 1024;
/** Blocks of more bytes have a record and a bucket, which take as much as the slots of a block of this size. */
export const NATIVE_LARGEST_IN_SLOT = 224;

/** Addresses of a range of pages, and behind the last one: u64. */
export const Mapping = { start: 0, end: 8 } as const;
export const MAPPING_BYTES = 16;
/** As many as the kernel lets a process have, and a few more. */
export const MOST_MAPPINGS = 65536;

const shapes = HEADER_BYTES + CONTROL_BYTES;
const { tablesEnd, ...tables } = placeTables(shapes, CONTEXTS + 1);

/** Bytes of what a process has mapped when it exits that are kept. */
export const MAPS_BYTES = 2 ** 18;

/** Where the tables begin. */
export const Place = {
  control: HEADER_BYTES,
  ...tables,
  records: Math.ceil(tablesEnd / RECORD_BYTES) * RECORD_BYTES,
  recordCapacity: RECORDS + 1,
  /** `Slot`s with chains of records of large blocks, as many as there are records. */
  buckets: 1320 * MIB,
  modules: 1456 * MIB,
  /** What modules are called, one after the other. */
  names: 1458 * MIB,
  namesEnd: 1460 * MIB,
  /** u32 per module, by address. */
  moduleOrder: 1460 * MIB,
  /** A `StartedPart` for each part of the address space that has regions. */
  parts: 1461 * MIB,
  ruleCache: 1462 * MIB,
  /** A `Mapping` for each range that the program has mapped itself, by address. */
  mappings: 1463 * MIB,
  threads: 1464 * MIB,
  /** What the process has mapped when it exits, as the kernel tells it: lines, and zeros behind them. */
  maps: 1592 * MIB,
  /** u32 per part of the address space: its distance from the first one; 0 for that one, which has no regions. */
  directory: 1600 * MIB,
  /** The first part, then parts and slots as they are needed. */
  slots: 2112 * MIB,
  slotsEnd: 4095 * MIB,
} as const;

/**
 * Where counters of accesses lie in a process. An address has two, at `(address >> 3) * 4` from each: the first has accesses of which
 * one reads, or several that are counted together; the second, where the index has the bit `WRITES_BIT` of the other value, has those that only
 * write. No two addresses of a program differ in that bit alone, bit 45 of an address: programs' own begin with 0x55 or 0x56 or are below 4 GiB,
 * those of libraries and stacks begin with 0x7e or 0x7f. The two differ in their lower bits, too: caches look at these first.
 */
export const COUNTERS = 0x7fff_8000;
export const WRITES = COUNTERS + 0x1a40;
export const WRITES_BIT = 42;
export const GRANULE_SHIFT = 3;
/** Bits of how many bytes they take, from `COUNTERS` on. */
export const COUNTERS_BITS = 46;
