import {
  C_DEEPEST, CONTROL, F_NODE, FIRST_STACK, FRAME_SIZE, INSTANCE, M_ALLOC_CPU, M_DEALLOC_CPU, M_MIGRATED,
  M_SAME_ALLOC_CPU, M_SAME_DEALLOC_CPU, R_OWNER, STACK, STACK_COUNT, STACK_DISTANCE,
} from "./layout";

// Where several instances share the memory, all of this and of what calls it runs under a lock. Access counters do not.

@external("host", "lock")
export declare function lock(): void;
@external("host", "unlock")
export declare function unlock(): void;

/** The instance that runs has allocated the block of a record. */
export function noteOwner(record: usize): void { store<u32>(record, INSTANCE, R_OWNER); }

/** The instance that runs ends the block of a record: MemProf's rules for processors. */
export function noteProcessors(record: usize, mib: usize): void {
  const from = load<u32>(record, R_OWNER);
  const last = load<u32>(mib, M_ALLOC_CPU);
  if (last == 0) store<u32>(mib, from != INSTANCE ? 1 : 0, M_MIGRATED);
  else {
    if (last == from) store<u32>(mib, load<u32>(mib, M_SAME_ALLOC_CPU) + 1, M_SAME_ALLOC_CPU);
    if (load<u32>(mib, M_DEALLOC_CPU) == INSTANCE)
      store<u32>(mib, load<u32>(mib, M_SAME_DEALLOC_CPU) + 1, M_SAME_DEALLOC_CPU);
  }
  store<u32>(mib, from, M_ALLOC_CPU);
  store<u32>(mib, INSTANCE, M_DEALLOC_CPU);
}

/** Frames up to here may have memos from now on. */
export function noteDepth(frame: u32): void {
  const depth = frame - STACK;
  if (<i32>depth > load<i32>(CONTROL, C_DEEPEST)) store<u32>(CONTROL, depth, C_DEEPEST);
}

/** Takes the memos from all frames of all stacks: the nodes they name are given back. */
export function forgetMemos(): void {
  const depth = load<u32>(CONTROL, C_DEEPEST);
  for (let i: u32 = 0; i < STACK_COUNT; i++) {
    const stack = FIRST_STACK + i * STACK_DISTANCE;
    // Of a stack that was never used, the root's frame has no node.
    if (load<u32>(stack - FRAME_SIZE, F_NODE) == 0) continue;
    for (let at = stack; at <= stack + depth; at += FRAME_SIZE) store<u32>(at, 0, F_NODE);
  }
}
