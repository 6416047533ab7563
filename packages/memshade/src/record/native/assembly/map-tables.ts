// Maps the tables of an object, a file named by its build id: when the object is first seen, and again when
// the parent has made more tables.
import { Header, MARK_SEPARATOR, Module, SUM_LETTER, SUM_WORDS, Text } from "./layout.generated";
import { load8, scratch, store8, syscall1, syscall2, syscall3, syscall4, syscall6, text } from "./machine";
import {
  AT_FDCWD,
  CLOSE,
  LSEEK,
  MAP_PRIVATE,
  MMAP,
  MUNMAP,
  O_RDONLY_CLOEXEC,
  OPENAT,
  PROT_READ,
  SEEK_END,
} from "./system-calls";
import { isTables, TABLES_HEAD_BYTES } from "./tables";

const MOST_PATH_BYTES: u64 = 2000;
const MARK_BITS: i32 = 48;

@inline
function digit(value: u32): u32 {
  return value < 10 ? 48 + value : 87 + value;
}

function writePath(module: usize): void {
  let to = scratch() + 1024;
  const from = text() + Text.tables;
  for (let i: u64 = 0; i < MOST_PATH_BYTES; i++) {
    const byte = load8(from + i);
    if (byte === 0) break;
    store8(to++, byte);
  }
  let bytes = load<u32>(module, Module.buildIdBytes);
  if (bytes === 0) {
    store8(to++, SUM_LETTER);
    bytes = 4 * SUM_WORDS;
  }
  for (let i: u32 = 0; i < bytes; i++) {
    const byte: u32 = load<u8>(module + i, Module.buildId);
    store8(to++, digit(byte >>> 4));
    store8(to++, digit(byte & 15));
  }
  const mark = load<u64>(module, Module.mark);
  if (mark !== 0) {
    store8(to++, MARK_SEPARATOR);
    for (let shift: i32 = MARK_BITS - 4; shift >= 0; shift -= 4)
      store8(to++, digit(<u32>(mark >>> shift) & 15));
  }
  store8(to, 0);
}

/** Maps the tables of a module if the file exists. Call under the lock. */
export function mapTables(module: usize): void {
  store<u32>(module, load<u32>(Header.tablesTurn), Module.turn);
  if (!hasKey(module)) return;
  writePath(module);
  const file = syscall4(OPENAT, AT_FDCWD, scratch() + 1024, O_RDONLY_CLOEXEC, 0);
  if (file >= 0) {
    mapFile(module, file);
    syscall1(CLOSE, file);
  }
  // The parent also remakes damaged tables.
  if (load<u64>(module, Module.table) === 0) store<u32>(Header.wanted, load<u32>(Header.wanted) + 1);
}

function mapFile(module: usize, file: i64): void {
  const bytes = syscall3(LSEEK, file, 0, SEEK_END);
  if (bytes < <i64>TABLES_HEAD_BYTES) return;
  const table = syscall6(MMAP, 0, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (table < 0 && table >= -4095) return;
  if (isTables(table, bytes)) store<u64>(module, table, Module.table);
  else syscall2(MUNMAP, table, bytes);
}

/** Returns true if the tables of a module have a name: its build id, or a sum. */
@inline
export function hasKey(module: usize): bool {
  return (
    load<u32>(module, Module.buildIdBytes) !== 0 ||
    (load<u64>(module, Module.buildId) | load<u64>(module, Module.buildId + 8)) !== 0
  );
}

/** Returns true if the parent has made tables since this module's were looked up in vain. */
@inline
export function mayHaveTables(module: usize): bool {
  return (
    load<u64>(module, Module.table) === 0 &&
    hasKey(module) &&
    load<u32>(module, Module.turn) !== load<u32>(Header.tablesTurn)
  );
}
