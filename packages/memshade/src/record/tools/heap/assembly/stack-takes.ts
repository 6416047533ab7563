// The program's stack as the host uses it: bytes that the host takes by a call, as of Emscripten's stackAlloc, and has not given back.
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

/** Before the stack pointer is set to `to`, in function `mover`. Returns `to`. */
export function stackMoving(to: u32, mover: u32): u32 {
  const from = programStackPointer();
  // Stacks of coroutines are elsewhere.
  if (isInStack(from) && isInStack(to)) {
    if (to < from) take(from, to, mover);
    else if (to > from) giveBack(to);
  }
  return to;
}

/** An exception leaves the program, which was entered with the stack pointer at `from`: nobody undoes its frames. */
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
  // The host is asked where the list is longer than ever, or was before an exception went on through functions around: rarely, unless the
  // stack sinks.
  const most = load<u32>(STACK_TAKES, StackTakes.most);
  if (HOST_STACKS === 0 || before < most) return;
  store<u32>(STACK_TAKES, max(most, count + 1), StackTakes.most);
  store<u32>(HOST_ENTRIES, 0, HostEntries.above);
  store<u32>(HOST_ENTRIES, 0, HostEntries.answer);
  if (askHost() !== 0) store<u32>(entry, load<u32>(HOST_ENTRIES, HostEntries.answer), StackTake.caller);
}

function giveBack(to: u32): void {
  if (dropAbove(to)) return;
  // Only a part, or all and not what frames lost that an exception has left.
  const count = load<u32>(STACK_TAKES, StackTakes.count);
  if (count !== 0) store<u32>(entryAt(count - 1), to, StackTake.to);
}

/** Forgets what was taken below `to`, where the stack pointer is now. False: nothing was. */
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
