// The first hook of a process, and of a child that was forked, maps the memory. There is no linear memory yet: neither globals nor
// loads and stores of it may be used here.
import { bindNext } from "./bind-next";
import { HEADER_MAGIC, HEADER_VERSION, Header, Text } from "./layout.generated";
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
  FTRUNCATE,
  GETPID,
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
} from "./system-calls";

const PAGE_BYTES: u64 = 4096;
/** Below linear memory are its globals. */
const GLOBAL_BYTES: u64 = 0x1_0000;
const MEMORY_BYTES: u64 = 0x1_0000_0000;
/** An index of 32 bits with an offset stays inside. */
const RESERVED_BYTES: u64 = 0x1_8000_0000 + 2 * GLOBAL_BYTES;
const MOST_PATH_BYTES: u64 = 2000;

@inline
function isError(result: i64): bool {
  return result < 0 && result >= -4095;
}

/** Writes the path of this process's memory to the scratch page, behind the first 1024 bytes. */
function writePath(process: u64): void {
  let to = scratch() + 1024;
  const from = text() + Text.memory;
  for (let i: u64 = 0; i < MOST_PATH_BYTES; i++) {
    const byte = load8(from + i);
    if (byte === 0) break;
    store8(to++, byte);
  }
  let unit: u64 = 1;
  while (process / unit >= 10) unit *= 10;
  for (; unit !== 0; unit /= 10) store8(to++, 48 + <u32>((process / unit) % 10));
  store8(to, 0);
}

/** Maps the file over what was reserved; an error, or something else. */
function mapFile(at: u64, process: u64): i64 {
  writePath(process);
  const file = syscall4(OPENAT, AT_FDCWD, scratch() + 1024, O_CREATE, OWNER_ONLY);
  if (isError(file)) return file;
  let result = syscall2(FTRUNCATE, file, GLOBAL_BYTES + MEMORY_BYTES);
  if (!isError(result))
    result = syscall6(
      MMAP,
      at,
      GLOBAL_BYTES + MEMORY_BYTES,
      PROT_READ_WRITE,
      MAP_SHARED | MAP_FIXED,
      file,
      0,
    );
  syscall1(CLOSE, file);
  return result;
}

/** In the slot, in place of an address: there is no room for the memory, and nothing can be recorded. */
const NO_MEMORY: u64 = 1;

/** Whether there is a memory. To be asked before anything of it is used. */
@inline
export function isOpen(): bool {
  return load64(memorySlot()) > NO_MEMORY;
}

function giveUp(): u64 {
  store64(memorySlot(), NO_MEMORY);
  return NO_MEMORY;
}

/**
 * Gives the address of linear memory, which is in the memory slot too. Called where that is 0. What the dynamic linker allocates
 * meanwhile is not recorded.
 */
export function memory_open(): u64 {
  const opening = text() + Text.opening;
  if (load32(opening) !== 0) return NO_MEMORY;
  store32(opening, 1);
  bindNext();
  const base = open();
  store32(opening, 0);
  return base;
}

function open(): u64 {
  const process: u64 = syscall1(GETPID, 0);
  const reserved = syscall6(MMAP, 0, RESERVED_BYTES, PROT_NONE, MAP_RESERVED, <u64>-1, 0);
  if (isError(reserved)) return giveUp();
  const base: u64 = reserved + GLOBAL_BYTES;
  let failure = mapFile(reserved, process);
  if (isError(failure)) {
    // Where no file can be made, the program runs on with what nobody reads. The parent misses the file.
    const size = GLOBAL_BYTES + MEMORY_BYTES;
    if (isError(syscall6(MMAP, reserved, size, PROT_READ_WRITE, MAP_RESERVED | MAP_FIXED, <u64>-1, 0)))
      return giveUp();
  } else failure = 0;
  syscall2(CLOCK_GETTIME, CLOCK_MONOTONIC, scratch());
  store64(base + Header.start, load64(scratch()) * 1_000_000_000 + load64(scratch() + 8));
  store32(base + Header.failure, <u32>-failure);
  store32(base + Header.tablesWait, load32(text() + Text.tablesWait));
  store32(text() + Text.tablesWait, 0);
  store32(base + Header.process, <u32>process);
  store32(base + Header.version, HEADER_VERSION);
  store32(base + Header.magic, HEADER_MAGIC);
  const slot = memorySlot();
  store64(slot, base);
  syscall3(MADVISE, slot & ~(PAGE_BYTES - 1), PAGE_BYTES, MADV_WIPEONFORK);
  return base;
}
