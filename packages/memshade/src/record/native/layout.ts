import { CONTROL_BYTES, RECORD_BYTES, SLOT_BYTES } from "../tools/heap/layout.ts";
import { placeTables } from "../tools/heap/place-tables.ts";

// Layout of the memory that the runtime has in a native program, for the code that fills it and for readers
// outside. It is linear memory of 4 GiB, zero at the start. Pages that are never touched take no memory.
// README.md has a table.

const MIB = 2 ** 20;
/** Most calling contexts, and most live blocks, that the tables hold. */
const CONTEXTS = 256 * 1024;
const RECORDS = 16 * MIB;
const HEADER_BYTES = 64 * 1024;

/** State that the parent reads first, at address 0. */
export const Header = {
  magic: 0,
  version: 4,
  /** 0: free; 1: taken; 2: taken, and a thread waits. */
  lock: 8,
  /** Not 0 while the tables are changing. */
  changing: 12,
  /** Process that opened the memory. A forked child has a memory of its own. */
  process: 16,
  threads: 20,
  modules: 24,
  /** Number of site numbers that modules have so far. */
  sites: 28,
  /** Increased when rules of addresses have changed: an object was unloaded, or its tables were mapped. */
  epoch: 32,
  /** Number of times that an object's tables were not found. */
  wanted: 36,
  /** The parent increases this word when it has made more tables. */
  tablesTurn: 40,
  /** Milliseconds that a thread waits for the tables of a new object; 0 if no parent makes any. */
  tablesWait: 44,
  /** Number of times that the lock was not taken in time. */
  abandoned: 48,
  /** Number of the dump that the parent requests, and of the dump that the tables are held for. */
  request: 52,
  answered: 56,
  /** Number of threads without room for their state. */
  threadsRefused: 60,
  /**
   * u64: calls of the allocator that are not recorded, from inside a hook or because the lock was not taken.
   */
  unrecorded: 64,
  /** u64: stacks that were cut at the root's side, and stacks that were lost before the root. */
  cutStacks: 72,
  lostStacks: 80,
  /** u64: nanoseconds of the monotonic clock at the start. */
  start: 88,
  /** Index of the last bucket for large blocks. */
  lastBucket: 96,
  /** Number of parts of the address space with regions. */
  parts: 112,
  /** errno of the failure if the memory has no file. */
  failure: 100,
  /** Number of modules that are not unloaded. */
  present: 104,
  /** Bytes of all module names so far. */
  names: 108,
  /** Number of call sites inside recursion that new call paths leave out, because paths were very many. */
  foldedCalls: 116,
  /** Process that this one was forked from; 0 if it has executed the program. */
  parent: 512,
  /** Bytes of the program's path, and of its arguments with a zero after each. */
  programBytes: 516,
  commandBytes: 520,
  mappings: 524,
  /** u64: calls of the allocator before the memory was mapped. */
  early: 528,
  /** u64: address range of the allocator's object, once it was looked up. */
  allocatorStart: 536,
  allocatorEnd: 544,
  /** u64: number and bytes of mapped ranges of 4 GiB or more. */
  largeRanges: 552,
  largeRangeBytes: 560,
  isCounting: 568,
  /** errno of the failure if the counters are not shared. */
  countersFailure: 572,
  /** u64: address near the upper end of the program's initial stack. */
  stackTop: 576,
  /** Not 0 once the recording has ended. */
  isOver: 584,
  // Fields for a program that has ended, and is held while the parent reads its memory.
  /**
   * State of the program (`Wish`), the parent's answer (`Answer`), and a word that the parent increases as a
   * sign of life.
   */
  wish: 588,
  answer: 592,
  sign: 596,
  /** u64: lower end of the used stack of the thread that ends the program. */
  endStack: 600,
  /** 16 bytes for the time of a sleep. */
  pause: 608,
  /** Process id of the parent. */
  watcher: 624,
  /** Thread that ends the program. */
  endThread: 628,
  /**
   * `copyAsked`: not 0 if a copy of the process is to be made with the next dump. `copy`: its process id, or
   * a negative errno. `copier`: thread that has made it.
   */
  copyAsked: 632,
  copy: 636,
  copier: 640,
  /** Not 0 once the process has called exec, and that has not failed. */
  isReplaced: 644,
  /** 16 bytes for the time of the copy's sleep. */
  copyPause: 648,
  /** Not 0 once `allocator` has the ten u64 of `mallinfo2`, see `AllocatorWord`. */
  isAllocatorAsked: 664,
  allocator: 672,
  /** Last result of `mincore`: a byte per page of counters. */
  touched: 28672,
  program: 16384,
  command: 20480,
} as const;
/** Most bytes of a program's path, and of its arguments. */
export const MOST_PROGRAM_BYTES = 4096;
export const HEADER_MAGIC = 0x4853_4d4e;
export const HEADER_VERSION = 4;

/**
 * `asked`: sent by this process, or by another one that shares its memory; `sure`: sent by this process;
 * `over`: it no longer waits.
 */
export const Wish = { none: 0, asked: 1, sure: 2, over: 3 } as const;
/** `mayCall`: the process may make system calls; `done`: it may continue. */
export const Answer = { none: 0, mayCall: 1, done: 2 } as const;

/** Site numbers: marks in place of a site, then the first number of modules. */
export const Site = {
  /** The stack was cut at the root's side. */
  cut: 1,
  /** No caller was found. */
  lost: 2,
  /** No room for another module. */
  unknown: 3,
  first: 16,
} as const;

/**
 * A range of addresses with code: an object, or memory that a compiler at run time has filled. Constant,
 * except for `table`.
 */
export const Module = {
  /** u64: range of addresses in the process. */
  start: 0,
  end: 8,
  /** u64: address in the process minus address in the object. */
  bias: 16,
  /** u64: address of its mapped tables; 0 if it has none. */
  table: 24,
  /** Site of its first address. */
  site: 32,
  /** `ModuleKind` */
  kind: 36,
  /** `Header.tablesTurn` when its tables were last looked up. */
  turn: 40,
  /**
   * Bytes of the build id. If 0, `buildId` has a sum of the content that the tables are made from, or zeros.
   */
  buildIdBytes: 44,
  buildId: 48,
  /** Bytes of the object's name; `name`: its address in linear memory. */
  nameBytes: 68,
  /** u64: number of allocations before it was seen. */
  time: 72,
  name: 80,
  /** u64: number that distinguishes a rewritten file from its original; 0 for originals. */
  mark: 88,
} as const;
export const MODULE_BYTES = 96;
export const MOST_BUILD_ID_BYTES = 20;
/** 32-bit words of the sum that replaces a build id. */
export const SUM_WORDS = 4;
/** `s`, before the digits of a sum in the name of a table file. */
export const SUM_LETTER = 115;
/** `.`, before the mark of a rewritten file in the name of its table file. */
export const MARK_SEPARATOR = 46;
/** Type of a rewritten file's program header that has the mark as its address. */
export const REWRITTEN_HEADER = 0x6d73_6864;
export const MOST_MODULES = 16384;
/** `piece`: memory that is no object; `gone`: unloaded. */
export const ModuleKind = { object: 1, piece: 2, gone: 3 } as const;
/** Bits of an address within a piece. */
export const PIECE_BITS = 16;

/** State of a thread, from its first allocation on. */
export const Thread = {
  /** Kernel's thread id. */
  id: 0,
  /** End of the last walk: `WalkEnd`. */
  end: 4,
  /** Frames of the last stack, and the number of outermost frames that have nodes. */
  frames: 8,
  settled: 12,
  epoch: 20,
  /** 1 if the block that `realloc` removed was the youngest of the large blocks. */
  parkedYoungest: 24,
  /** 16 bytes: name at the first allocation. */
  name: 32,
  /** u64: number and bytes of its allocations. */
  blocks: 48,
  bytes: 56,
  /** Record of the block that `realloc` removed; 0: none. */
  parked: 64,
  /**
   * Counters of the removed block: accesses, u64; number of touched granules; a bit that is set if there were
   * reads.
   */
  parkedAccesses: 72,
  parkedTouched: 80,
  parkedFlags: 84,
  /** 32 bytes for times. */
  room: 96,
  stack: 256,
} as const;
/**
 * Offset from `room`: not 0 if the thread must not wait for the lock, because it may hold the lock itself.
 */
export const ROOM_MAY_NOT_WAIT = 32;
export const WalkEnd = { whole: 0, cut: 1, lost: 2 } as const;
export const MOST_FRAMES = 1024;
export const MOST_THREADS = 1024;

/**
 * A frame of a thread's stack: where its return address is stored, its value and the frame pointer after the
 * return (u64 each), then its site or node. A `place` is the address of the word below the stack pointer after the return.
 */
export const StackFrame = {
  place: 0,
  address: 8,
  framePointer: 16,
  /** Site; node of the calling context tree once settled. */
  site: 24,
  /** Words below the CFA where the frame pointer was saved (0: not saved), and `Link`. */
  link: 28,
} as const;
export const STACK_FRAME_BYTES = 32;
export const Link = {
  wordsMask: 0x7ff,
  /** The frame was found by the frame pointer of its callee. */
  byPointer: 0x1000_0000,
  /** Frames further out depend on this frame's frame pointer. */
  needed: 0x2000_0000,
  /** More words than these were read to find the frame. */
  unchecked: 0x4000_0000,
  /** The frame was interrupted by a signal. */
  interrupted: 0x8000_0000,
} as const;
/** Offset in a thread of the current walk, innermost frame first. Before it is the last stack, root first. */
export const WALKED = Thread.stack + MOST_FRAMES * STACK_FRAME_BYTES;
/** Two more frames: one beyond the limit, and one for a trial step. */
export const THREAD_BYTES = WALKED + (MOST_FRAMES + 2) * STACK_FRAME_BYTES;

export const Tls = {
  /** Not 0 while the thread is in a hook. */
  guard: 0,
  /** Low half: address of the `Thread`; high half: its process. */
  thread: 8,
} as const;

/** Writable words of the image, and paths with a zero after each. */
export const Text = {
  /** Prefix of a memory file's path; the process id follows. */
  memory: 0,
  /** Prefix of a table file's path; the build id follows. */
  tables: 2048,
  /** Path of the image in LD_PRELOAD. */
  image: 4096,
  next: 7168,
  /** Not 0 while the memory is being mapped. */
  opening: 7680,
  /** Not 0 once the next definitions were looked up. */
  isBound: 7684,
  /**
   * u64: address of the C library's byte that is not 0 while there is only one thread; 0 if the library has
   * none.
   */
  isSingleThreaded: 7696,
  /** Initial `Header.tablesWait` of the process that was started. No parent makes tables for its children. */
  tablesWait: 7688,
  /** Names of functions whose next definition is needed. `next` has a u64 for the address of each. */
  names: 8192,
  /** Process that opened the memory last: in a forked child, its parent. */
  process: 12288,
  children: 12292,
  /** u64: calls of the allocator before the memory was mapped. */
  early: 12296,
  /** /proc paths of the process's program and of its arguments. */
  program: 12304,
  command: 12336,
  /** Not 0 if inserted code counts accesses in mapped counters. */
  isCounting: 12400,
  /** Not 0 if inserted code follows which stores are read; 2: by the rules of deadstores. */
  isWaste: 12404,
  /** Shared ranges: address and size, u64 each; 0 at the end. */
  shared: 12408,
  /** Not 0 if the first word of the first shared range is to become 1. */
  isWatched: 12472,
  /** /proc path of the process's mappings. */
  maps: 12480,
  /**
   * Function that samples blocks, as a distance from `text`; u64: address of the word by which inserted code
   * calls it, 0 if no code does.
   */
  sampleBlock: 12500,
  slowPath: 12504,
  /** Not 0 if the owners of blocks are recorded. */
  isOwned: 12512,
  /** Not 0 if the parent reads the memory when the program ends. */
  isLookedAt: 12516,
  /**
   * Functions that run then, as distances from `text`: one for all ways to exit, and the two that it leads
   * to.
   */
  atExit: 12520,
  endProgram: 12524,
  exitProgram: 12528,
  /** u64: addresses of the C library's functions. */
  exit: 12536,
  quickExit: 12544,
  /** u64: address of the C library's `environ`. */
  environ: 12552,
} as const;
export const MOST_SHARED = 4;
export const TEXT_BYTES = 12800;
/** Bytes and number of names. Unused names are empty. */
export const NEXT_NAME_BYTES = 64;
export const NEXT_NAMES = 64;
/** Index in `next` of some functions. */
export const NextWord = { findObject: 0, malloc: 1, exit: 2, allocatorInfo: 3 } as const;
/**
 * Index in the result of `mallinfo2`: bytes of arenas, bytes of separately mapped ranges, free bytes, and
 * free bytes at the top of the heap.
 */
export const AllocatorWord = { arenas: 0, ranges: 4, free: 8, top: 9 } as const;

/**
 * A rule in 32 bits: how to get from a frame to its caller. From the lowest bit: `RuleKind`, 3 bits; offset
 * of the CFA in words, 16 bits; words below the CFA where the frame pointer was saved, 11 bits, 0 if it is
 * unchanged.
 */
export const RuleKind = {
  /** No function that the tables contain. */
  none: 0,
  /** CFA = rsp + offset */
  stackPointer: 1,
  /** CFA = rbp + offset */
  framePointer: 2,
  /** Realigned stack: CFA = *(rbp - offset); the frame pointer was saved at rbp + 8 * (words - 1). */
  saved: 3,
  end: 4,
  /** Any other rule, or no tables. */
  other: 5,
  /** Trampoline of a signal handler: the kernel has saved all registers. */
  signal: 6,
  /** PLT entry: CFA = rsp + 8, or rsp + 16 after its second instruction. */
  linkage: 7,
} as const;
export const Rule = { kindMask: 7, cfaShift: 3, cfaMask: 0xffff, savedShift: 19, savedMask: 0x7ff } as const;

/**
 * A table file, mapped unchanged. After the head: index of the first entry of each block of code and one
 * more, entries, rules.
 */
export const TablesHead = {
  magic: 0,
  version: 4,
  /** Sum of the rest of the file, `SUM_WORDS` words: old files may be damaged. */
  sum: 8,
  /** u64: address in the object of the first block. */
  base: 24,
  /** Number of 4 KiB blocks of code, of entries, of rules. */
  blocks: 32,
  entries: 36,
  rules: 40,
} as const;
export const TABLES_HEAD_BYTES = 48;
export const TABLES_MAGIC = 0x5453_4d4e;
export const TABLES_VERSION = 2;
/**
 * Bits of an address within a block. An entry has its offset in the block in these bits, and the index of its
 * rule above. A block with entries has one for offset 0.
 */
export const TABLE_BLOCK_BITS = 12;

/** Cache of rules: u64 address XOR rule, u64 rule. */
export const RULE_CACHE_BITS = 14;
export const CACHED_RULE_BYTES = 16;

/**
 * Bits of an address within its region, and within its slot. The smallest blocks of the GNU C library take 32
 * bytes; blocks that begin closer together have records. The slots of a region fill a cache line.
 */
export const NATIVE_REGION_BITS = 8;
export const NATIVE_SLOT_BITS = 5;
export const NATIVE_REGION_SLOTS = 2 ** (NATIVE_REGION_BITS - NATIVE_SLOT_BITS) * SLOT_BYTES;
export const ADDRESS_BITS = 47;
/**
 * Bits of an address within its part of the address space. A part has a u32 per region: where its slots are,
 * 0 if it has none.
 */
export const PART_BITS = 20;
export const PART_BYTES = 2 ** (PART_BITS - NATIVE_REGION_BITS) * 4;
/** A part with regions: its index in the directory, and its address. */
export const StartedPart = { number: 0, regions: 4 } as const;
export const STARTED_PART_BYTES = 8;
export const MOST_PARTS = 128 * 1024;
/**
 * Larger blocks have a record and a bucket, which take as many bytes as the slots of a block of this size.
 */
export const NATIVE_LARGEST_IN_SLOT = 224;

/** u64: range of pages. */
export const Mapping = { start: 0, end: 8 } as const;
export const MAPPING_BYTES = 16;
/** The kernel's limit for a process, and a few more. */
export const MOST_MAPPINGS = 65536;

const shapes = HEADER_BYTES + CONTROL_BYTES;
const { tablesEnd, ...tables } = placeTables(shapes, CONTEXTS + 1);

/** Most bytes of the list of mappings at the exit. */
export const MAPS_BYTES = 2 ** 18;

export const Place = {
  control: HEADER_BYTES,
  ...tables,
  records: Math.ceil(tablesEnd / RECORD_BYTES) * RECORD_BYTES,
  recordCapacity: RECORDS + 1,
  /** `Slot`s with chains of records of large blocks, one per record. */
  buckets: 1320 * MIB,
  modules: 1456 * MIB,
  names: 1458 * MIB,
  namesEnd: 1460 * MIB,
  /** u32 per module, sorted by address. */
  moduleOrder: 1460 * MIB,
  /** A `StartedPart` for each part of the address space with regions. */
  parts: 1461 * MIB,
  ruleCache: 1462 * MIB,
  /** A `Mapping` for each range that the program has mapped itself, sorted by address. */
  mappings: 1463 * MIB,
  threads: 1464 * MIB,
  /** The kernel's list of mappings at the exit: lines, then zeros. */
  maps: 1592 * MIB,
  /** u32 per part of the address space: its distance from the first part; 0 for parts without regions. */
  directory: 1600 * MIB,
  /** The first part, which is empty, then parts and slots in the order of their allocation. */
  slots: 2112 * MIB,
  slotsEnd: 4095 * MIB,
} as const;

/**
 * Address of the counters of accesses in a process. An address has two counters, each at index `address >>
 * 3`. The first counts reads, and groups of accesses of which one reads. The second counts accesses that only
 * write; its index has bit `WRITES_BIT` inverted.
 * No two addresses of a program differ only in that bit, bit 45 of an address: programs begin with 0x55 or
 * 0x56 or are below 4 GiB, libraries and stacks begin with 0x7e or 0x7f. The bases differ in lower bits too,
 * so that the two counters fall into different cache sets.
 */
export const COUNTERS = 0x7fff_8000;
export const WRITES = COUNTERS + 0x1a40;
export const WRITES_BIT = 42;
export const GRANULE_SHIFT = 3;
/** Log2 of the bytes of all counters, from `COUNTERS` on. */
export const COUNTERS_BITS = 46;
