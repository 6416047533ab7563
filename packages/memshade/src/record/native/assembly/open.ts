// Maps the memory at the first hook of a process or a forked child. There is no linear memory yet, so
// globals, loads and stores must not be used here.
import { bindNext, canFindObjects } from "./bind-next";
import { describeProcess } from "./process/describe";
import { HEADER_MAGIC, HEADER_VERSION, Header, MOST_SHARED, Text } from "./layout.generated";
import {
  load32,
  load64,
  load8,
  memorySlot,
  scratch,
  store32,
  store64,
  store8,
  syscall1,
  syscall2,
  syscall3,
  syscall4,
  syscall6,
  text,
} from "./machine";
import {
  AT_FDCWD,
  CLOCK_GETTIME,
  CLOCK_MONOTONIC,
  CLOSE,
  EEXIST,
  EFBIG,
  FTRUNCATE,
  GETPID,
  GETRLIMIT,
  MADV_DONTDUMP,
  MADV_WIPEONFORK,
  MADVISE,
  MAP_FIXED,
  MAP_RESERVED,
  MAP_SHARED,
  MMAP,
  OPENAT,
  O_CREATE,
  OWNER_ONLY,
  PROT_NONE,
  PROT_READ_WRITE,
  RLIMIT_FSIZE,
} from "./system-calls";

const PAGE_BYTES: u64 = 4096;
/** The globals of linear memory lie below it. */
const GLOBAL_BYTES: u64 = 0x1_0000;
const MEMORY_BYTES: u64 = 0x1_0000_0000;
/** Covers every 32-bit index with an offset. */
const RESERVED_BYTES: u64 = 0x1_8000_0000 + 2 * GLOBAL_BYTES;
const MOST_PATH_BYTES: u64 = 2000;
const DOT: u32 = 46;

@inline
function isError(result: i64): bool {
  return result < 0 && result >= -4095;
}

/** A process that executes another program makes one more memory. */
const MOST_MEMORIES: u64 = 1000;

/** Writes the path of this process's memory to the scratch page, at offset 1024. */
function writePath(process: u64, turn: u64): void {
  let to = scratch() + 1024;
  const from = text() + Text.memory;
  for (let i: u64 = 0; i < MOST_PATH_BYTES; i++) {
    const byte = load8(from + i);
    if (byte === 0) break;
    store8(to++, byte);
  }
  to = writeNumber(to, process);
  if (turn > 1) {
    store8(to, DOT);
    to = writeNumber(to + 1, turn);
  }
  store8(to, 0);
}

/** Returns the end of the digits. */
function writeNumber(to: u64, number: u64): u64 {
  let unit: u64 = 1;
  while (number / unit >= 10) unit *= 10;
  for (; unit !== 0; unit /= 10) store8(to++, 48 + <u32>((number / unit) % 10));
  return to;
}

function makeFile(process: u64): i64 {
  let file: i64 = -EEXIST;
  for (let turn: u64 = 1; file === -EEXIST && turn <= MOST_MEMORIES; turn++) {
    writePath(process, turn);
    file = syscall4(OPENAT, AT_FDCWD, scratch() + 1024, O_CREATE, OWNER_ONLY);
  }
  return file;
}

/**
 * Returns true if the process may make a file of this size. A larger file than its limit would end it by a
 * signal.
 */
function mayBeLarge(bytes: u64): bool {
  const failure = syscall2(GETRLIMIT, RLIMIT_FSIZE, scratch());
  return isError(failure) || load64(scratch()) >= bytes;
}

/** Maps a new file over a range, and closes its descriptor. Returns an error, or a value that is none. */
function mapFile(at: u64, bytes: u64, file: i64): i64 {
  if (isError(file)) return file;
  let result: i64 = -EFBIG;
  if (mayBeLarge(bytes)) result = syscall2(FTRUNCATE, file, bytes);
  if (!isError(result)) result = syscall6(MMAP, at, bytes, PROT_READ_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  syscall1(CLOSE, file);
  return result;
}

const COUNTS_SUFFIX: u64 = 0x0073_746e_756f_632e;

@inline
function sharedAt(i: u64): u64 {
  return load64(text() + Text.shared + (i << 4));
}
@inline
function sharedBytes(i: u64): u64 {
  return load64(text() + Text.shared + (i << 4) + 8);
}

export function isInserted(): bool {
  return sharedAt(0) !== 0;
}

/**
 * Shares the ranges of inserted code through a file beside the memory's, whose path was written last. Returns
 * 0 or an error.
 */
function shareCounts(): i64 {
  let end = scratch() + 1024;
  while (load8(end) !== 0) end++;
  store64(end, COUNTS_SUFFIX);
  const file = syscall4(OPENAT, AT_FDCWD, scratch() + 1024, O_CREATE, OWNER_ONLY);
  if (isError(file)) return file;
  let total: u64 = 0;
  for (let i: u64 = 0; i < MOST_SHARED && sharedAt(i) !== 0; i++) total += sharedBytes(i);
  let result: i64 = mayBeLarge(total) ? syscall2(FTRUNCATE, file, total) : -EFBIG;
  let from: u64 = 0;
  for (let i: u64 = 0; i < MOST_SHARED && sharedAt(i) !== 0 && !isError(result); i++) {
    result = syscall6(MMAP, sharedAt(i), sharedBytes(i), PROT_READ_WRITE, MAP_SHARED | MAP_FIXED, file, from);
    if (!isError(result)) syscall3(MADVISE, sharedAt(i), sharedBytes(i), MADV_DONTDUMP);
    from += sharedBytes(i);
  }
  syscall1(CLOSE, file);
  const isWatched = load32(text() + Text.isWatched);
  if (!isError(result) && isWatched !== 0) store32(sharedAt(0), 1);
  return isError(result) ? result : 0;
}

/** Gives a forked child ranges of its own for inserted code. */
function separateCounts(): void {
  for (let i: u64 = 0; i < MOST_SHARED && sharedAt(i) !== 0; i++) {
    syscall6(MMAP, sharedAt(i), sharedBytes(i), PROT_READ_WRITE, MAP_RESERVED | MAP_FIXED, <u64>-1, 0);
    syscall3(MADVISE, sharedAt(i), sharedBytes(i), MADV_DONTDUMP);
  }
}

/** Value of the slot if the memory cannot be mapped. Nothing is recorded then. */
const NO_MEMORY: u64 = 1;

/** Returns true if there is a memory. Check this before any use of it. */
@inline
export function isOpen(): bool {
  return load64(memorySlot()) > NO_MEMORY;
}

/** Returns true if the parent has ended the recording. */
@inline
export function isOver(): bool {
  return load<u32>(Header.isOver) !== 0;
}

function giveUp(): u64 {
  store64(memorySlot(), NO_MEMORY);
  return NO_MEMORY;
}

/**
 * Maps linear memory, and returns the address that it also stores in the memory slot. Called while the slot
 * is 0. Allocations of the dynamic linker meanwhile are not recorded.
 */
export function memory_open(): u64 {
  const opening = text() + Text.opening;
  if (load32(opening) !== 0) {
    const early = text() + Text.early;
    store64(early, load64(early) + 1);
    return NO_MEMORY;
  }
  store32(opening, 1);
  if (load32(text() + Text.process) !== 0) separateCounts();
  bindNext();
  const base = isToBeRecorded() && canFindObjects() ? open() : giveUp();
  store32(opening, 0);
  return base;
}

/** Returns true for the first process, and for forked children if children are recorded. */
function isToBeRecorded(): bool {
  return load32(text() + Text.process) === 0 || load32(text() + Text.children) !== 0;
}

function open(): u64 {
  const process: u64 = syscall1(GETPID, 0);
  const reserved = syscall6(MMAP, 0, RESERVED_BYTES, PROT_NONE, MAP_RESERVED, <u64>-1, 0);
  if (isError(reserved)) {
    // The empty file shows the parent that this process existed.
    const file = makeFile(process);
    if (!isError(file)) syscall1(CLOSE, file);
    return giveUp();
  }
  const base: u64 = reserved + GLOBAL_BYTES;
  let failure = mapFile(reserved, GLOBAL_BYTES + MEMORY_BYTES, makeFile(process));
  if (isError(failure)) {
    // If the file cannot be made, the program runs on with private memory. The parent notices the missing
    // file.
    const size = GLOBAL_BYTES + MEMORY_BYTES;
    if (isError(syscall6(MMAP, reserved, size, PROT_READ_WRITE, MAP_RESERVED | MAP_FIXED, <u64>-1, 0)))
      return giveUp();
  } else failure = 0;
  store32(base + Header.isCounting, load32(text() + Text.isCounting));
  if (sharedAt(0) !== 0 && failure === 0) store32(base + Header.countersFailure, <u32>-shareCounts());
  const slowPath = load64(text() + Text.slowPath);
  if (slowPath !== 0) store64(slowPath, text() + <u64>(<i64>(<i32>load32(text() + Text.sampleBlock))));
  syscall2(CLOCK_GETTIME, CLOCK_MONOTONIC, scratch());
  store64(base + Header.start, load64(scratch()) * 1_000_000_000 + load64(scratch() + 8));
  store32(base + Header.failure, <u32>-failure);
  // No parent makes tables for a memory without a file.
  store32(base + Header.tablesWait, failure === 0 ? load32(text() + Text.tablesWait) : 0);
  store64(base + Header.early, load64(text() + Text.early));
  store64(text() + Text.early, 0);
  describeProcess(base);
  store32(base + Header.parent, load32(text() + Text.process));
  store32(text() + Text.process, <u32>process);
  store32(base + Header.process, <u32>process);
  store32(base + Header.version, HEADER_VERSION);
  store32(base + Header.magic, HEADER_MAGIC);
  const slot = memorySlot();
  store64(slot, base);
  syscall3(MADVISE, slot & ~(PAGE_BYTES - 1), PAGE_BYTES, MADV_WIPEONFORK);
  return base;
}
