import type { HeapProfile } from "./heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoFrameTable,
  type IndexIntoStackTable,
  NONE,
  type None,
} from "./indices.ts";

/** Returns the frames of a context's call stack, innermost first; empty if no call path was recorded. */
export function framesOfContext(profile: HeapProfile, context: IndexIntoContextTable): IndexIntoFrameTable[] {
  return framesOfStack(profile, profile.contexts.stack[context]!);
}

export function framesOfStack(
  { stacks }: HeapProfile,
  innermost: IndexIntoStackTable | None,
): IndexIntoFrameTable[] {
  const frames: IndexIntoFrameTable[] = [];
  for (let stack = innermost; stack !== NONE; stack = stacks.prefix[stack]!)
    frames.push(stacks.frame[stack]!);
  return frames;
}
