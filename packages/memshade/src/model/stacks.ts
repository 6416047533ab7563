import type { HeapProfile } from "./heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "./indices.ts";

/** The frames of a context's call stack, innermost first; empty where no call path was recorded. */
export function framesOfContext(profile: HeapProfile, context: IndexIntoContextTable): IndexIntoFrameTable[] {
  const { stacks, contexts } = profile;
  const frames: IndexIntoFrameTable[] = [];
  for (let stack = contexts.stack[context]!; stack !== NONE; stack = stacks.prefix[stack]!) {
    frames.push(stacks.frame[stack]!);
  }
  return frames;
}

/** The frame that allocates; undefined where no call path was recorded. */
export function leafFrameOfContext(
  profile: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoFrameTable | undefined {
  const stack = profile.contexts.stack[context]!;
  return stack === NONE ? undefined : profile.stacks.frame[stack]!;
}
