import { STACK_FRAME_BYTES, StackFrame } from "../../../contexts/assembly/layout.generated";
import { CONTROL, FIRST_STACK, INSTANCE, STACK, STACK_COUNT, STACK_DISTANCE } from "./imports";
import { Context, Control, Record } from "./layout.generated";

// Where several instances share the memory, all of this and of what calls it runs under a lock. Access counters do not.

/** The instance that runs has allocated the block of a record. */
export function noteOwner(record: usize): void {
  store<u32>(record, INSTANCE, Record.owner);
}

/** The instance that runs ends the block of a record: MemProf's rules for processors. */
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

/** Frames up to here may have memos from now on. */
export function noteDepth(frame: u32): void {
  const depth = frame - STACK;
  if (<i32>depth > load<i32>(CONTROL, Control.deepest)) store<u32>(CONTROL, depth, Control.deepest);
}

/** Takes the memos from all frames of all stacks: the nodes they name are given back. */
export function forgetMemos(): void {
  const depth = load<u32>(CONTROL, Control.deepest);
  for (let i: u32 = 0; i < STACK_COUNT; i++) {
    const stack = FIRST_STACK + i * STACK_DISTANCE;
    // Of a stack that was never used, the root's frame has no node.
    if (load<u32>(stack - STACK_FRAME_BYTES, StackFrame.node) === 0) continue;
    for (let at = stack; at <= stack + depth; at += STACK_FRAME_BYTES) store<u32>(at, 0, StackFrame.node);
  }
}
