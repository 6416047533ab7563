// Follows a process that replaces itself by another program (exec): the next program gets the image in LD_PRELOAD, by a
// copy of its environment, and removes it there. A forked child and a program that cannot load the image see nothing of it.
// These functions run without linear memory.
import { isPreload, PRELOAD_BYTES, PRELOAD_WORD, PRELOAD_WORD_END } from "./initialize";
import { Header, Text } from "./layout.generated";
import {
  libcExecve,
  libcExecvpe,
  libcFexecve,
  load32,
  load64,
  load8,
  memorySlot,
  stackPointer,
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
import { isOpen } from "./open";
import {
  AT_FDCWD,
  CLOSE,
  FACCESSAT,
  FSTAT,
  GETPID,
  MAP_RESERVED,
  MMAP,
  MUNMAP,
  O_RDONLY_CLOEXEC,
  OPENAT,
  PREAD64,
  PROT_READ_WRITE,
} from "./system-calls";

export function execve(path: u64, values: u64, environment: u64): u32 {
  const isOwn = begin();
  const copy = isOwn && isFollowable(path) ? withPreload(environment) : 0;
  const result = libcExecve(path, values, copy !== 0 ? copy : environment);
  unmap(copy);
  if (isOwn) setReplacing(0);
  return result;
}

export function execv(path: u64, values: u64): u32 {
  return execve(path, values, environ());
}

export function execvpe(name: u64, values: u64, environment: u64): u32 {
  const isOwn = begin();
  const copy = isOwn && isNameFollowable(name) ? withPreload(environment) : 0;
  const result = libcExecvpe(name, values, copy !== 0 ? copy : environment);
  unmap(copy);
  if (isOwn) setReplacing(0);
  return result;
}

export function execvp(name: u64, values: u64): u32 {
  return execvpe(name, values, environ());
}

export function fexecve(file: u64, values: u64, environment: u64): u32 {
  const isOwn = begin();
  const copy = isOwn && isFileFollowable(file) ? withPreload(environment) : 0;
  const result = libcFexecve(file, values, copy !== 0 ? copy : environment);
  unmap(copy);
  if (isOwn) setReplacing(0);
  return result;
}

export function execl(path: u64, a: u64, b: u64, c: u64, d: u64, e: u64): u32 {
  const values = listOf(a, b, c, d, e, stackPointer());
  const result = execve(path, values, environ());
  unmap(values);
  return result;
}

export function execlp(name: u64, a: u64, b: u64, c: u64, d: u64, e: u64): u32 {
  const values = listOf(a, b, c, d, e, stackPointer());
  const result = execvpe(name, values, environ());
  unmap(values);
  return result;
}

/** The environment follows the null that ends the list. */
export function execle(path: u64, a: u64, b: u64, c: u64, d: u64, e: u64): u32 {
  const values = listOf(a, b, c, d, e, stackPointer());
  const environment = values === 0 ? 0 : load64(values + 8 * (count(values) + 1));
  const result = execve(path, values, environment);
  unmap(values);
  return result;
}

/** Returns true in the process that was started, while it is recorded. A child by vfork shares its memory. */
function isFollowed(): bool {
  return (
    load32(text() + Text.children) === 0 &&
    isOpen() &&
    load32(load64(memorySlot()) + Header.isOver) === 0 &&
    load32(text() + Text.process) === <u32>syscall1(GETPID, 0)
  );
}

/** Returns true in the process that is followed, and notes that it is being replaced. */
function begin(): bool {
  if (!isFollowed()) return false;
  setReplacing(1);
  return true;
}

@inline
function setReplacing(value: u32): void {
  store32(load64(memorySlot()) + Header.isReplaced, value);
}

@inline
function environ(): u64 {
  return load64(load64(text() + Text.environ));
}

/**
 * Returns the arguments of a function with a variable number of them, with one more behind the null at the end: five
 * come in registers, the others lie on the stack above the return address. `unmap` the list.
 */
function listOf(a: u64, b: u64, c: u64, d: u64, e: u64, place: u64): u64 {
  const above = place + 8;
  let onStack: u64 = 0;
  if (a !== 0 && b !== 0 && c !== 0 && d !== 0 && e !== 0)
    while (load64(above + 8 * onStack) !== 0) onStack++;
  const list = map(8 * (onStack + 7));
  if (list === 0) return 0;
  store64(list, a);
  store64(list + 8, b);
  store64(list + 16, c);
  store64(list + 24, d);
  store64(list + 32, e);
  for (let i: u64 = 0; i < onStack + 2; i++) store64(list + 40 + 8 * i, load64(above + 8 * i));
  return list;
}

function count(list: u64): u64 {
  let length: u64 = 0;
  if (list !== 0) while (load64(list + 8 * length) !== 0) length++;
  return length;
}

function lengthOf(string: u64): u64 {
  let length: u64 = 0;
  while (load8(string + length) !== 0) length++;
  return length;
}

/** Copies a string without its end, and returns the address behind the copy. */
function copyString(to: u64, from: u64): u64 {
  for (; load8(from) !== 0; from++) store8(to++, load8(from));
  return to;
}

/** Returns fresh memory; 0 if there is none. The word before it is the size of the mapping. */
function map(bytes: u64): u64 {
  const at = syscall6(MMAP, 0, bytes + 8, PROT_READ_WRITE, MAP_RESERVED, <u64>-1, 0);
  if (at < 0) return 0;
  store64(at, bytes + 8);
  return at + 8;
}

function unmap(at: u64): void {
  if (at !== 0) syscall2(MUNMAP, at - 8, load64(at - 8));
}

/** Returns a copy of an environment with the image as the first entry of LD_PRELOAD. `unmap` the copy. */
function withPreload(environment: u64): u64 {
  const entries = count(environment);
  let at = entries;
  for (let i: u64 = 0; i < entries; i++) if (isPreload(load64(environment + 8 * i))) at = i;
  const others = at < entries ? load64(environment + 8 * at) + PRELOAD_BYTES : 0;
  const image = text() + Text.image;
  const pointers = 8 * (entries + 2);
  const copy = map(pointers + PRELOAD_BYTES + lengthOf(image) + (others !== 0 ? lengthOf(others) : 0) + 2);
  if (copy === 0) return 0;
  for (let i: u64 = 0; i < entries; i++) store64(copy + 8 * i, load64(environment + 8 * i));
  const value = copy + pointers;
  store64(copy + 8 * at, value);
  store64(value, PRELOAD_WORD);
  store64(value + 8, PRELOAD_WORD_END);
  const end = copyString(value + PRELOAD_BYTES, image);
  if (others !== 0) {
    store8(end, COLON);
    copyString(end + 1, others);
  }
  return copy;
}

const COLON: u32 = 58;
const SLASH: u32 = 47;
const START_BYTES: u64 = 4096;
/** Behind the bytes of a file: `struct stat`, whose mode is at 24. */
const STATUS: u64 = START_BYTES;
const MODE: u64 = STATUS + 24;
/** S_ISUID and S_ISGID: the dynamic linker of such programs ignores paths in LD_PRELOAD. */
const SET_ID: u32 = 0o6000;
const MOST_INTERPRETERS: u32 = 5;

function isFollowable(path: u64): bool {
  const start = map(START_BYTES + 256);
  if (start === 0) return false;
  const isKnown = isImageReadable() && isKnownFrom(path, start, 0);
  unmap(start);
  return isKnown;
}

function isFileFollowable(file: u64): bool {
  const start = map(START_BYTES + 256);
  if (start === 0) return false;
  const bytes = readStart(file, start);
  const isScript = bytes > 2 && isScriptAt(start);
  const isKnown =
    isImageReadable() &&
    (isScript ? isKnownFrom(interpreterIn(start, bytes), start, 1) : isDynamic(file, start, bytes));
  unmap(start);
  return isKnown;
}

/** Another root folder or another user may make the image unreachable. */
function isImageReadable(): bool {
  const file = syscall4(OPENAT, AT_FDCWD, text() + Text.image, O_RDONLY_CLOEXEC, 0);
  if (file < 0) return false;
  syscall1(CLOSE, file);
  return true;
}

/** Returns true if the GNU C library's dynamic linker starts this file, or the interpreter that its first line names. */
function isKnownFrom(path: u64, start: u64, depth: u32): bool {
  for (; depth < MOST_INTERPRETERS; depth++) {
    const file = syscall4(OPENAT, AT_FDCWD, path, O_RDONLY_CLOEXEC, 0);
    if (file < 0) return false;
    const bytes = readStart(file, start);
    const isScript = bytes > 2 && isScriptAt(start);
    const isKnown = !isScript && isDynamic(file, start, bytes);
    syscall1(CLOSE, file);
    if (!isScript) return isKnown;
    path = interpreterIn(start, bytes);
  }
  return false;
}

/** Returns the number of bytes read from a file's start; 0 for one that changes the user. */
function readStart(file: u64, start: u64): u64 {
  if (syscall2(FSTAT, file, start + STATUS) < 0 || (load32(start + MODE) & SET_ID) !== 0) return 0;
  const bytes = syscall4(PREAD64, file, start, START_BYTES - 1, 0);
  return bytes > 0 ? bytes : 0;
}

@inline
function isScriptAt(start: u64): bool {
  return (load32(start) & 0xffff) === 0x2123;
}

/** Returns the interpreter's path in a script's first line, and ends it by a zero. */
function interpreterIn(start: u64, bytes: u64): u64 {
  const end = start + bytes;
  let from = start + 2;
  while (from < end && isBlank(load8(from))) from++;
  let to = from;
  while (to < end && !isBlank(load8(to)) && load8(to) > 10) to++;
  store8(to, 0);
  return from;
}

@inline
function isBlank(byte: u32): bool {
  return byte === 32 || byte === 9;
}

// Fields of an ELF file: class, machine, and program headers with their types.
const ELF: u32 = 0x464c_457f;
const CLASS_64: u32 = 2;
const X86_64: u32 = 62;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const HEADER_BYTES: u64 = 56;
/** Behind the bytes of a file: a program header, or the start of a string. */
const PIECE: u64 = STATUS;
const OFFSET: u64 = PIECE + 8;
const ADDRESS: u64 = PIECE + 16;
const SIZE: u64 = PIECE + 32;
/** "ld-linux" */
const LOADER_WORD: u64 = 0x7875_6e69_6c2d_646c;
/** Bytes of "ld-linux-x86-64.so.2" with the zero at its end. */
const LOADER_BYTES: u64 = 21;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const ENTRY_BYTES: u64 = 16;
// "libasan.", and "libclang" before "_rt.asan".
const ASAN: u64 = 0x2e6e_6173_6162_696c;
const CLANG: u64 = 0x676e_616c_6362_696c;
const CLANG_ASAN: u64 = 0x6e61_7361_2e74_725f;

/** Returns true for a program of the GNU C library's dynamic linker that accepts a preloaded library. */
function isDynamic(file: u64, start: u64, bytes: u64): bool {
  if (bytes < 64 || load32(start) !== ELF || load8(start + 4) !== CLASS_64) return false;
  if ((load32(start + 18) & 0xffff) !== X86_64) return false;
  // Program headers may lie anywhere in a file: those of rewritten files lie at the end.
  const headers = load64(start + 32);
  const many: u64 = load32(start + 56) & 0xffff;
  if (!readHeader(file, start, headers, many, PT_INTERP, 0)) return false;
  const length = load64(start + SIZE);
  if (length < LOADER_BYTES) return false;
  const at = load64(start + OFFSET) + length - LOADER_BYTES;
  if (syscall4(PREAD64, file, start + PIECE, 8, at) !== 8) return false;
  return load64(start + PIECE) === LOADER_WORD && !needsSanitizer(file, start, headers, many);
}

/** Reads the header of a type into the piece, for `PT_LOAD` the one that contains an address. */
function readHeader(file: u64, start: u64, headers: u64, many: u64, type: u32, address: u64): bool {
  for (let i: u64 = 0; i < many; i++) {
    const at = headers + HEADER_BYTES * i;
    if (syscall4(PREAD64, file, start + PIECE, HEADER_BYTES, at) !== HEADER_BYTES) return false;
    if (load32(start + PIECE) !== type) continue;
    if (type !== PT_LOAD || address - load64(start + ADDRESS) < load64(start + SIZE)) return true;
  }
  return false;
}

/** Returns true for a program with AddressSanitizer as a library, which does not start behind a preloaded one. */
function needsSanitizer(file: u64, start: u64, headers: u64, many: u64): bool {
  if (!readHeader(file, start, headers, many, PT_DYNAMIC, 0)) return false;
  const size = load64(start + SIZE);
  const read = syscall4(
    PREAD64,
    file,
    start,
    size < START_BYTES ? size : START_BYTES,
    load64(start + OFFSET),
  );
  const end = start + (read > 0 ? <u64>read : 0);
  let strings: u64 = 0;
  for (let entry = start; entry + ENTRY_BYTES <= end; entry += ENTRY_BYTES)
    if (load64(entry) === DT_STRTAB) strings = load64(entry + 8);
  if (!readHeader(file, start, headers, many, PT_LOAD, strings)) return false;
  strings += load64(start + OFFSET) - load64(start + ADDRESS);
  for (let entry = start; entry + ENTRY_BYTES <= end; entry += ENTRY_BYTES) {
    if (load64(entry) !== DT_NEEDED) continue;
    if (syscall4(PREAD64, file, start + PIECE, 16, strings + load64(entry + 8)) !== 16) continue;
    const word = load64(start + PIECE);
    if (word === ASAN || (word === CLANG && load64(start + PIECE + 8) === CLANG_ASAN)) return true;
  }
  return false;
}

/** "PATH=" */
const PATH_WORD: u64 = 0x3d_4854_4150;
const PATH_BYTES: u64 = 5;
const EXECUTABLE: u64 = 1;
const LONGEST_NAME: u64 = 256;
const LONGEST_PATH: u64 = 4096;

/** Returns the value of PATH; 0 if there is none. */
function folders(): u64 {
  const environment = environ();
  const entries = count(environment);
  for (let i: u64 = 0; i < entries; i++) {
    const entry = load64(environment + 8 * i);
    let same: u64 = 0;
    while (same < PATH_BYTES && load8(entry + same) === <u32>((PATH_WORD >>> (same << 3)) & 255)) same++;
    if (same === PATH_BYTES) return entry + PATH_BYTES;
  }
  return 0;
}

/** Looks a name up in PATH. */
function isNameFollowable(name: u64): bool {
  for (let at = name; load8(at) !== 0; at++) if (load8(at) === SLASH) return isFollowable(name);
  if (lengthOf(name) > LONGEST_NAME) return false;
  let folder = folders();
  if (folder === 0) return false;
  const path = map(LONGEST_PATH + LONGEST_NAME + 2);
  if (path === 0) return false;
  let isKnown: bool = false;
  while (true) {
    let to = path;
    while (load8(folder) !== 0 && load8(folder) !== COLON && to < path + LONGEST_PATH)
      store8(to++, load8(folder++));
    if (to > path) store8(to++, SLASH);
    store8(copyString(to, name), 0);
    if (syscall3(FACCESSAT, AT_FDCWD, path, EXECUTABLE) === 0) {
      isKnown = isFollowable(path);
      break;
    }
    if (load8(folder) !== COLON) break;
    folder++;
  }
  unmap(path);
  return isKnown;
}
