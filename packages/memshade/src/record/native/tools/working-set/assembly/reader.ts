import {
  load64,
  load8,
  memorySlot,
  store64,
  syscall1,
  syscall2,
  syscall3,
  syscall4,
  syscall6,
} from "../../../assembly/machine";
import {
  AT_FDCWD,
  CLOCK_GETTIME,
  CLOCK_MONOTONIC,
  FUTEX,
  LSEEK,
  MAP_FIXED,
  MAP_RESERVED,
  MAP_SHARED,
  MMAP,
  OPENAT,
  PROT_READ_WRITE,
  READ,
} from "../../../assembly/system-calls";
import {
  Clock,
  CONTROL_BYTES,
  FREED,
  LINE_SHIFT,
  MARK_BYTES,
  MIXED,
  NO_PIECE,
  OWNED_PAGE_SHIFT,
  OWNER_SHIFT,
  OWNER_WORD_BYTES,
  OWNERS_BITS,
  OWNERS_PER_LINE,
  PIECE_BYTES,
  SHARED_UNITS,
} from "./layout.generated";
import {
  EVERYBODY,
  EXIT_GROUP,
  FUTEX_WAIT_SHARED,
  FUTEX_WAKE_SHARED,
  O_RDWR_CLOEXEC,
  POLL,
  POLLIN,
  SEEK_DATA,
  SEEK_HOLE,
  WRITE,
} from "./system-calls";

// Linear memory: input byte; scratch space and a piece's marks; output buffer; a u16 per window of the file, its place
// in memory counted from 1; the windows.
const INPUT: usize = 0;
const TAKEN: usize = 64;
const TAKEN_MARKS: usize = 0x2000;
const OUT: usize = 0x1_0000;
const OUT_BYTES: u32 = 0x10_0000;
const PLACES: usize = 0x20_0000;
const WINDOWS: usize = 0x800_0000;
const WINDOW_BITS: u32 = 20;
const MOST_WINDOWS: u32 = 4095 - (0x800_0000 >> 20);
/** Offsets in the file: end of the marks, where the words per 16 bytes begin, and start of the words per page. */
const MARKS_END: u64 = <u64>SHARED_UNITS * CONTROL_BYTES;
const PAGES_AT: u64 = MARKS_END + ((<u64>1) << OWNERS_BITS);
const MARKS_PER_PAGE: u32 = (1 << (OWNED_PAGE_SHIFT - LINE_SHIFT)) * MARK_BYTES;
const LINE_WORDS: u32 = OWNERS_PER_LINE * OWNER_WORD_BYTES;
/** Reserved so that a 32-bit index plus an offset stays inside. */
const RESERVED_BYTES: u64 = 0x1_8002_0000;
const GLOBAL_BYTES: u64 = 0x1_0000;
const CPU_OF_PROCESS: u64 = 2;
const PIECE_HEAD: u32 = 8;
const LOOK_NS: u64 = 5_000_000;

let windows: u32 = 0;
let written: u32 = 0;
let refused: u64 = 0;
let cpuClock: u64 = 0;
let isAlone: u64 = 0;
let areOwnersAsked: bool = false;

export function memory_open(): u64 {
  const reserved: u64 = syscall6(MMAP, 0, RESERVED_BYTES, PROT_READ_WRITE, MAP_RESERVED, <u64>-1, 0);
  if (<i64>reserved < 0 && <i64>reserved > -4096) syscall1(EXIT_GROUP, 1);
  store64(memorySlot(), reserved + GLOBAL_BYTES);
  return reserved + GLOBAL_BYTES;
}

@inline
function processAddress(at: usize): u64 {
  return load64(memorySlot()) + at;
}

/**
 * Entry of the program. `stack`: stack pointer at the start. Arguments: path of the file; process id of the program;
 * accesses per interval, 0 if not counted; number of intervals after which intervals double; 1 if owners are requested.
 */
export function read_marks(stack: u64): void {
  const file: u64 = syscall4(OPENAT, AT_FDCWD, load64(stack + 16), O_RDWR_CLOEXEC, 0);
  if (<i64>file < 0) syscall1(EXIT_GROUP, 1);
  cpuClock = (~numberAt(load64(stack + 24)) << 3) | CPU_OF_PROCESS;
  const period = numberAt(load64(stack + 32));
  areOwnersAsked = numberAt(load64(stack + 48)) !== 0;
  if (period !== 0) endIntervals(file, period, numberAt(load64(stack + 40)));
  while (syscall3(READ, 0, processAddress(INPUT), 1) === 1) handOut(file, 0);
  syscall1(EXIT_GROUP, 0);
}

function handOut(file: u64, accesses: u64): void {
  takeAll(file);
  putWord(NO_PIECE);
  putWord(now(CLOCK_MONOTONIC));
  putWord(now(cpuClock));
  putWord(refused);
  putWord(accesses);
  putWord(isAlone);
  flush();
}

/** Ends an interval when the program has used up its accesses and waits. Ends the last one when the input is closed. */
function endIntervals(file: u64, shortest: u64, most: u64): void {
  const clock = placeOf(file, 0);
  let period = shortest;
  let granted: u64 = 0;
  let intervals: u64 = 0;
  while (true) {
    if (atomic.xchg<u32>(clock + Clock.asked, 0) !== 0) {
      // Another thread may have waited for the same interval.
      if (atomic.load<i64>(clock + Clock.left) < 0) {
        if (granted !== 0) {
          handOut(file, granted - load<i64>(clock + Clock.left));
          if (++intervals === most) {
            intervals >>= 1;
            period <<= 1;
          }
        }
        granted += period;
        atomic.add<i64>(clock + Clock.left, period);
      }
      atomic.add<u32>(clock + Clock.answered, 1);
      futex(clock + Clock.answered, FUTEX_WAKE_SHARED, EVERYBODY);
    }
    if (hasInputEnded()) break;
    futex(clock + Clock.asked, FUTEX_WAIT_SHARED, 0);
  }
  isAlone = load<u32>(clock + Clock.isWatched) === 0 ? 1 : 0;
  handOut(file, granted - load<i64>(clock + Clock.left));
  syscall1(EXIT_GROUP, 0);
}

/** Waits for or wakes a word in the file. A wait times out when the input must be checked. */
function futex(word: usize, operation: u64, value: u64): void {
  store<u64>(TAKEN, 0);
  store<u64>(TAKEN, LOOK_NS, 8);
  syscall6(FUTEX, processAddress(word), operation, value, processAddress(TAKEN), 0, 0);
}

/** True once the input is closed. Nothing is ever written to it here. */
function hasInputEnded(): bool {
  store<u32>(INPUT, 0);
  store<u32>(INPUT, POLLIN, 4);
  return syscall3(POLL, processAddress(INPUT), 1, 0) > 0;
}

function numberAt(text: u64): u64 {
  let number: u64 = 0;
  for (; load8(text) !== 0; text++) number = 10 * number + load8(text) - 48;
  return number;
}

/** Returns 0 if the process has ended. */
function now(clock: u64): u64 {
  if (syscall2(CLOCK_GETTIME, clock, processAddress(TAKEN)) < 0) return 0;
  return load<u64>(TAKEN) * 1_000_000_000 + load<u64>(TAKEN, 8);
}

function takeAll(file: u64): void {
  let at: u64 = CONTROL_BYTES;
  while (true) {
    const data = syscall3(LSEEK, file, at, SEEK_DATA);
    if (data < 0 || <u64>data >= MARKS_END) return;
    const end = syscall3(LSEEK, file, data, SEEK_HOLE);
    if (end < 0) return;
    for (at = <u64>data; at < min(<u64>end, MARKS_END); at += PIECE_BYTES) {
      const piece = placeOf(file, at);
      if (piece === 0) refused++;
      else take(file, at, piece);
    }
  }
}

/** Returns the address at which an offset of the file is mapped; 0 if there is no room. */
function placeOf(file: u64, at: u64): usize {
  const window = <u32>(at >>> WINDOW_BITS);
  const entry: usize = PLACES + (window << 1);
  let number: u32 = load<u16>(entry);
  if (number === 0) {
    if (windows === MOST_WINDOWS) return 0;
    const to = processAddress(WINDOWS + (windows << WINDOW_BITS));
    const from = (<u64>window) << WINDOW_BITS;
    const result = syscall6(MMAP, to, 1 << WINDOW_BITS, PROT_READ_WRITE, MAP_SHARED | MAP_FIXED, file, from);
    if (result < 0) return 0;
    number = ++windows;
    store<u16>(entry, <u16>number);
  }
  return WINDOWS + ((number - 1) << WINDOW_BITS) + (<u32>at & ((1 << WINDOW_BITS) - 1));
}

/** Writes a piece that has marks, and clears them. The owners of its marked lines follow. */
function take(file: u64, at: u64, piece: usize): void {
  let word: u32 = 0;
  while (word < PIECE_BYTES && load<u64>(piece + word) === 0) word += 8;
  if (word === PIECE_BYTES) return;
  if (written + PIECE_HEAD + PIECE_BYTES > OUT_BYTES) flush();
  const to: usize = OUT + written;
  store<u64>(to, at);
  memory.fill(to + PIECE_HEAD, 0, PIECE_BYTES);
  for (; word < PIECE_BYTES; word += 8)
    if (load<u64>(piece + word) !== 0) store<u64>(to + PIECE_HEAD + word, atomic.xchg<u64>(piece + word, 0));
  written += PIECE_HEAD + PIECE_BYTES;
  if (!areOwnersAsked) return;
  memory.copy(TAKEN_MARKS, to + PIECE_HEAD, PIECE_BYTES);
  const address = ((at - CONTROL_BYTES) / MARK_BYTES) << LINE_SHIFT;
  for (let page: u32 = 0; page < PIECE_BYTES; page += MARKS_PER_PAGE)
    putOwners(file, address + ((<u64>page / MARK_BYTES) << LINE_SHIFT), TAKEN_MARKS + page);
}

/** Writes the owners of a page's marked lines, a word per 16 bytes. A freed block counts until it was written once. */
function putOwners(file: u64, address: u64, marks: usize): void {
  let isPageRead = false;
  let pageAt: usize = 0;
  let words: usize = 0;
  let page: u32 = 0;
  for (let mark: u32 = 0; mark < MARKS_PER_PAGE; mark += MARK_BYTES) {
    if (load<u16>(marks + mark) === 0) continue;
    if (!isPageRead) {
      isPageRead = true;
      pageAt = placeOf(file, PAGES_AT + (address >>> OWNED_PAGE_SHIFT) * OWNER_WORD_BYTES);
      if (pageAt !== 0) page = load<u32>(pageAt);
      // Words that were never written are not read, since that would allocate memory.
      if ((page & MIXED) !== 0)
        words = placeOf(file, MARKS_END + (address >>> OWNER_SHIFT) * OWNER_WORD_BYTES);
      if (pageAt === 0 || ((page & MIXED) !== 0 && words === 0)) refused++;
    }
    if (written + LINE_WORDS > OUT_BYTES) flush();
    const line = (mark / MARK_BYTES) * LINE_WORDS;
    const whole = page & ~(FREED | MIXED);
    for (let i: u32 = 0; i < LINE_WORDS; i += OWNER_WORD_BYTES)
      store<u32>(OUT + written + i, words === 0 ? whole : ownerOf(words + line + i, whole));
    written += LINE_WORDS;
  }
  if ((page & FREED) !== 0) atomic.cmpxchg<u32>(pageAt, page, page & MIXED);
}

function ownerOf(at: usize, whole: u32): u32 {
  const word = load<u32>(at);
  if ((word & FREED) !== 0) atomic.cmpxchg<u32>(at, word, 0);
  return word === 0 ? whole : word & ~FREED;
}

function putWord(word: u64): void {
  if (written + 8 > OUT_BYTES) flush();
  store<u64>(OUT + written, word);
  written += 8;
}

function flush(): void {
  let from: u32 = 0;
  while (from < written) {
    const done = syscall3(WRITE, 1, processAddress(OUT + from), written - from);
    if (done <= 0) syscall1(EXIT_GROUP, 1);
    from += <u32>done;
  }
  written = 0;
}
