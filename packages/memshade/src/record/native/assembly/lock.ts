// The lock of all tables. A program must never hang because of it: the thread that holds the lock may have
// left a hook by a jump, or have died.
import { Header, Text } from "./layout.generated";
import { load64, load8, memorySlot, scratch, store64, syscall2, syscall4, text } from "./machine";
import { makeCopy } from "./copy";
import { CLOCK_GETTIME, CLOCK_MONOTONIC, FUTEX, FUTEX_WAIT, FUTEX_WAKE, NANOSLEEP } from "./system-calls";

const TRIES: u32 = 100;
const PATIENCE_NS: u64 = 1_000_000_000;
/** Timeout after an earlier wait has failed. */
const SHORT_PATIENCE_NS: u64 = 1_000_000;
/** Time that a dump may hold the tables, as a number of steps. */
const DUMP_STEP_NS: u64 = 1_000_000;
const DUMP_STEPS: u32 = 1000;

/** Returns the process's address of an offset in linear memory. */
@inline
export function processAddress(at: usize): u64 {
  return load64(memorySlot()) + at;
}

/** Returns nanoseconds of the monotonic clock. `at`: 16 bytes in linear memory for the result. */
export function monotonic(at: usize): u64 {
  syscall2(CLOCK_GETTIME, CLOCK_MONOTONIC, processAddress(at));
  return load<u64>(at) * 1_000_000_000 + load<u64>(at, 8);
}

/**
 * True if the program has only one thread. No other thread can take the lock then, and atomic instructions
 * are not needed.
 */
@inline
function isAlone(): bool {
  const flag = load64(text() + Text.isSingleThreaded);
  return flag !== 0 && load8(flag) !== 0;
}

@inline
function take(): bool {
  if (!isAlone()) return atomic.cmpxchg<u32>(Header.lock, 0, 1) === 0;
  if (load<u32>(Header.lock) !== 0) return false;
  store<u32>(Header.lock, 1);
  return true;
}

/**
 * Returns false if the lock could not be taken in time; the tables must not be changed then. `room`: 32 bytes
 * of linear memory of the thread's own.
 */
@inline
export function lock(room: usize): bool {
  if (!take() && !lockSlowly(room)) return false;
  store<u32>(Header.changing, 1);
  return true;
}

@inline
export function unlock(): void {
  if (load<u32>(Header.request) !== load<u32>(Header.answered)) holdStill();
  store<u32>(Header.changing, 0);
  if (isAlone()) store<u32>(Header.lock, 0);
  else if (atomic.xchg<u32>(Header.lock, 0) === 2) wake();
}

function lockSlowly(room: usize): bool {
  for (let i: u32 = 0; i < TRIES; i++)
    if (load<u32>(Header.lock) === 0 && atomic.cmpxchg<u32>(Header.lock, 0, 1) === 0) return true;
  const end = monotonic(room) + (load<u32>(Header.abandoned) === 0 ? PATIENCE_NS : SHORT_PATIENCE_NS);
  while (atomic.xchg<u32>(Header.lock, 2) !== 0) {
    const now = monotonic(room);
    if (now >= end) {
      atomic.add<u32>(Header.abandoned, 1);
      return false;
    }
    store<u64>(room, (end - now) / 1_000_000_000, 16);
    store<u64>(room, (end - now) % 1_000_000_000, 24);
    syscall4(FUTEX, processAddress(Header.lock), FUTEX_WAIT, 2, processAddress(room + 16));
  }
  return true;
}

function wake(): void {
  syscall4(FUTEX, processAddress(Header.lock), FUTEX_WAKE, 1, 0);
}

/** Holds the tables until the parent has read them, or for a second. */
function holdStill(): void {
  const request = load<u32>(Header.request);
  if (load<u32>(Header.copyAsked) !== 0) makeCopy();
  atomic.store<u32>(Header.changing, 0);
  atomic.store<u32>(Header.answered, request);
  store64(scratch(), 0);
  store64(scratch() + 8, DUMP_STEP_NS);
  for (let i: u32 = 0; i < DUMP_STEPS && atomic.load<u32>(Header.request) === request && request !== 0; i++)
    syscall2(NANOSLEEP, scratch(), 0);
  atomic.store<u32>(Header.answered, atomic.load<u32>(Header.request));
}
