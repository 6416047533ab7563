import { STACK_FRAME_BYTES, StackFrame } from "../../../contexts/assembly/layout.generated";
import { CONTROL, FIRST_STACK, INSTANCE, STACK, STACK_COUNT, STACK_DISTANCE } from "./imports";
import { Context, Control, Record } from "./layout.generated";

// If several instances share the memory, this code and its callers run under a lock. Access counters do not.

export function noteOwner(record: usize): void {
  store<u32>(record, INSTANCE, Record.owner);
}

/** Applies MemProf's rules for processors when the running instance ends the block of a record. */
export function noteProcessors(record: usize, mib: usize): void {
  const from = load<u32>(record, Record.owner);
  const last = load<u32>(mib, Context.allocCpu);
  if (last === 0) store<u32>(mib, from !== INSTANCE ? 1 : 0, Context.migrated);
  else {
    if (last === from) store<u32>(mib, load<u32>(mib, Context.sameAllocCpu) + 1, Context.sameAllocCpu);
    if (load<u32>(mib, Context.deallocCpu) === INSTANCE)
      store<u32>(mib, load<u32>(mib, Context.sameDeallocCpu) + 1, Context.sameDeallocCpu);
  }
  store<u32>(mib, from, Context.allocCpu);
  store<u32>(mib, INSTANCE, Context.deallocCpu);
}

/** Notes the depth up to which frames may have memos. */
export function noteDepth(frame: u32): void {
  const depth = frame - STACK;
  if (<i32>depth > load<i32>(CONTROL, Control.deepest)) store<u32>(CONTROL, depth, Control.deepest);
}

export function forgetMemos(): void {
  const depth = load<u32>(CONTROL, Control.deepest);
  for (let i: u32 = 0; i < STACK_COUNT; i++) {
    const stack = FIRST_STACK + i * STACK_DISTANCE;
    // The root's frame of an unused stack has no node.
    if (load<u32>(stack - STACK_FRAME_BYTES, StackFrame.node) === 0) continue;
    for (let at = stack; at <= stack + depth; at += STACK_FRAME_BYTES) store<u32>(at, 0, StackFrame.node);
  }
}
