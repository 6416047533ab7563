// The program's stack as the host uses it: bytes that the host takes by a call, such as Emscripten's stackAlloc, and has not
// given back.
import {
  askHost,
  HOST_ENTRIES,
  HOST_STACKS,
  PROGRAM_STACK_END,
  PROGRAM_STACK_START,
  programStackPointer,
  STACK_TAKES,
} from "./imports";
import {
  HostEntries,
  LEFT_BY_EXCEPTION,
  MOST_STACK_TAKES,
  STACK_TAKE_BYTES,
  STACK_TAKES_HEAD_BYTES,
  StackTake,
  StackTakes,
} from "./layout.generated";

/** Called before function `mover` sets the stack pointer to `to`. Returns `to`. */
export function stackMoving(to: u32, mover: u32): u32 {
  const from = programStackPointer();
  // Stacks of coroutines are elsewhere.
  if (isInStack(from) && isInStack(to)) {
    if (to < from) take(from, to, mover);
    else if (to > from) giveBack(to);
  }
  return to;
}

/**
 * Called when an exception leaves the program, which was entered with the stack pointer at `from`. The frames are not
 * undone.
 */
export function stackLeft(from: u32): void {
  const to = programStackPointer();
  if (to < from && isInStack(from) && isInStack(to)) take(from, to, LEFT_BY_EXCEPTION);
}

@inline
function isInStack(address: u32): bool {
  return address >= PROGRAM_STACK_START && address <= PROGRAM_STACK_END;
}

function take(from: u32, to: u32, mover: u32): void {
  const before = load<u32>(STACK_TAKES, StackTakes.count);
  // A function of the program that has returned gave back what the host took while it ran.
  dropAbove(from);
  const count = load<u32>(STACK_TAKES, StackTakes.count);
  if (count === MOST_STACK_TAKES) {
    add(StackTakes.furtherCalls, 1);
    add(StackTakes.furtherBytes, from - to);
    return;
  }
  const entry = entryAt(count);
  store<u32>(entry, from, StackTake.from);
  store<u32>(entry, to, StackTake.to);
  store<u32>(entry, mover, StackTake.mover);
  store<u32>(entry, 0, StackTake.caller);
  store<u32>(STACK_TAKES, count + 1, StackTakes.count);
  // The host is asked for the caller if the list is longer than ever. An exception may pass functions further out, so the
  // length before counts. Such calls are rare, unless the stack sinks.
  const most = load<u32>(STACK_TAKES, StackTakes.most);
  if (HOST_STACKS === 0 || before < most) return;
  store<u32>(STACK_TAKES, max(most, count + 1), StackTakes.most);
  store<u32>(HOST_ENTRIES, 0, HostEntries.above);
  store<u32>(HOST_ENTRIES, 0, HostEntries.answer);
  if (askHost() !== 0) store<u32>(entry, load<u32>(HOST_ENTRIES, HostEntries.answer), StackTake.caller);
}

function giveBack(to: u32): void {
  if (dropAbove(to)) return;
  // The host gave back only a part, or not the frames that an exception has left behind.
  const count = load<u32>(STACK_TAKES, StackTakes.count);
  if (count !== 0) store<u32>(entryAt(count - 1), to, StackTake.to);
}

/** Removes the takes below `to`, the new stack pointer. Returns false if there were none. */
function dropAbove(to: u32): bool {
  const before = load<u32>(STACK_TAKES, StackTakes.count);
  let count = before;
  while (count !== 0 && load<u32>(entryAt(count - 1), StackTake.from) <= to) count--;
  if (count === before) return false;
  store<u32>(STACK_TAKES, count, StackTakes.count);
  store<u32>(STACK_TAKES, 0, StackTakes.furtherCalls);
  store<u32>(STACK_TAKES, 0, StackTakes.furtherBytes);
  return true;
}

@inline
function entryAt(index: u32): usize {
  return STACK_TAKES + STACK_TAKES_HEAD_BYTES + index * STACK_TAKE_BYTES;
}

@inline
function add(field: u32, amount: u32): void {
  store<u32>(STACK_TAKES + field, load<u32>(STACK_TAKES + field) + amount);
}
