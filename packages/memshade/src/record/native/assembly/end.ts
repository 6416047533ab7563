// Holds a program that ends with live blocks, while the parent finds out which of them can still be reached.
// The handler is registered before all other exit handlers, so it runs after them.
// A program may have forbidden itself system calls, and would be killed by one. So it polls a word of its
// memory for some milliseconds, until the parent allows system calls. Without that permission, it polls until
// it gives up.
import { CONTROL } from "../../tools/heap/assembly/imports";
import { Control } from "../../tools/heap/assembly/layout.generated";
import { Answer, Header, NextWord, Text, Thread, Wish } from "./layout.generated";
import { lock, processAddress, unlock } from "./lock";
import {
  jump,
  libcAtExit,
  libcAtQuickExit,
  libcExitNow,
  load32,
  load64,
  load8,
  stackPointer,
  syscall1,
  syscall2,
  text,
} from "./machine";
import { isOpen, isOver } from "./open";
import { currentThread } from "./threads";
import { ESRCH, EXIT_GROUP, GETPID, GETTID, KILL, NANOSLEEP } from "./system-calls";

/** Reads of the word before it gives up: a second or two. */
const MOST_LOOKS: u32 = 3_000_000_000;
/**
 * Duration of a sleep. Number of sleeps without a sign of the parent: half a minute, or a second if the
 * parent is gone.
 */
const PAUSE_NS: u64 = 200_000;
const MOST_PAUSES: u32 = 120_000;
const PAUSES_ALONE: u32 = 4000;
/**
 * `exit` and similar functions are short, even with counters. An address at most this far behind their start
 * is a return into them.
 */
const EXIT_BYTES: u64 = 96;
const JUMP: u32 = 0xe9;
const JUMP_BYTES: u64 = 5;
/** Number of words on the stack to search for such a return address. */
const EXIT_WORDS: u64 = 64;

@inline
function functionAt(field: u64): u64 {
  return text() + <u64>(<i64>(<i32>load32(text() + field)));
}

/** Call this before any other exit handler is registered. */
export function waitForEnd(): void {
  if (load32(text() + Text.isLookedAt) === 0) return;
  libcAtExit(functionAt(Text.atExit), 0, 0);
  libcAtQuickExit(functionAt(Text.atExit), 0);
}

/** Runs after all other exit handlers. A forked child has no memory yet, and needs none. */
export function at_exit(_argument: u64): void {
  if (isOpen()) jump(functionAt(Text.endProgram), 0);
}

export function end_program(_argument: u64): void {
  beLookedAt(stackBehindExit(stackPointer()));
}

/** Replaces `_exit` and `_Exit`, which run no exit handlers. */
export function exit_now(status: u64): void {
  if (isOpen()) jump(functionAt(Text.exitProgram), status);
  else end(status);
}

export function exit_program(status: u64): void {
  beLookedAt(stackPointer());
  end(status);
}

function end(status: u64): void {
  if (load64(text() + Text.next + 8 * NextWord.exit) !== 0) libcExitNow(status);
  syscall1(EXIT_GROUP, status);
}

/**
 * Returns the address of a C library function's code. Where accesses are counted, the function begins with a
 * jump to that code.
 */
function codeOf(field: u64): u64 {
  const start = load64(text() + field);
  if (start === 0 || load8(start) !== JUMP) return start;
  return start + JUMP_BYTES + <u64>(<i64>(<i32>load32(start + 1)));
}

@inline
function isIn(address: u64, start: u64): bool {
  return start !== 0 && address > start && address - start <= EXIT_BYTES;
}

/** Returns where the stack of the caller of `exit` begins. The frame of `exit` itself is no longer in use. */
function stackBehindExit(place: u64): u64 {
  const exit = codeOf(Text.exit);
  const quickExit = codeOf(Text.quickExit);
  // The search ends at the upper end of the stack.
  const end = min(place + 8 * EXIT_WORDS, load<u64>(Header.stackTop));
  for (let at = place; at < end; at += 8) {
    const word = load64(at);
    if (isIn(word, exit) || isIn(word, quickExit)) return at + 8;
  }
  return place;
}

function beLookedAt(stack: u64): void {
  if (load32(text() + Text.isLookedAt) === 0 || isOver() || load<u32>(Header.failure) !== 0) return;
  if (load<u64>(CONTROL, Control.live) === 0) return;
  if (atomic.cmpxchg<u32>(Header.wish, Wish.none, Wish.over) !== Wish.none) return;
  store<u64>(Header.endStack, stack);
  atomic.store<u32>(Header.wish, Wish.asked);
  let answer: u32 = Answer.none;
  for (let i: u32 = 0; i < MOST_LOOKS && answer === Answer.none; i++)
    answer = atomic.load<u32>(Header.answer);
  if (answer === Answer.mayCall) {
    // Until it executes another program, a child of `vfork` shares all memory of its parent.
    if (<u32>syscall1(GETPID, 0) !== load<u32>(Header.process)) {
      atomic.store<u32>(Header.wish, Wish.none);
      return;
    }
    store<u32>(Header.endThread, <u32>syscall1(GETTID, 0));
    atomic.store<u32>(Header.wish, Wish.sure);
    sleepUntilDone();
  }
  atomic.store<u32>(Header.wish, Wish.over);
}

/** Stops at the lock as a hook would, because other threads may never enter a hook. */
function standStill(): void {
  const thread = currentThread();
  if (thread !== 0 && lock(thread + Thread.room)) unlock();
}

/** Returns true if the parent exists. In another PID namespace it may have another number. */
function isWatched(): bool {
  return syscall2(KILL, load<u32>(Header.watcher), 0) !== -ESRCH;
}

function sleepUntilDone(): void {
  store<u64>(Header.pause, 0);
  store<u64>(Header.pause + 8, PAUSE_NS);
  let sign = atomic.load<u32>(Header.sign);
  let pauses: u32 = 0;
  while (pauses < MOST_PAUSES && atomic.load<u32>(Header.answer) !== Answer.done) {
    syscall2(NANOSLEEP, processAddress(Header.pause), 0);
    if (load<u32>(Header.request) !== load<u32>(Header.answered)) standStill();
    const now = atomic.load<u32>(Header.sign);
    pauses = now === sign ? pauses + 1 : 0;
    sign = now;
    if (pauses >= PAUSES_ALONE && !isWatched()) return;
  }
}
