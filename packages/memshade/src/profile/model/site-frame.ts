import type { HeapProfile } from "./heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoFrameTable,
  type IndexIntoStackTable,
  NONE,
  type None,
} from "./indices.ts";
import { framesOfContext, framesOfStack } from "./stacks.ts";

/** Returns the part of a context's call stack whose innermost frame names its site. */
export function siteStackOfContext(
  { contexts }: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoStackTable | None {
  return (contexts.siteStack ?? contexts.stack)[context]!;
}

/** Returns the frame that names a context's site; undefined if no call path was recorded. */
export function siteFrameOfContext(
  profile: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoFrameTable | undefined {
  const stack = siteStackOfContext(profile, context);
  return stack === NONE ? undefined : profile.stacks.frame[stack]!;
}

/** Returns the frames of libraries inside the one that names a context's site, innermost first. */
export function framesInsideSite(
  profile: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoFrameTable[] {
  const frames = framesOfContext(profile, context);
  const outer = framesOfStack(profile, siteStackOfContext(profile, context));
  return frames.slice(0, frames.length - outer.length);
}

/**
 * Returns the frames at the code position of a context's site: functions inlined there, up to the enclosing real
 * function.
 */
export function placeFramesOfContext(
  profile: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoFrameTable[] {
  const isInlined = (frame: IndexIntoFrameTable) => profile.frames.inlined[frame] === 1;
  const inside = framesInsideSite(profile, context);
  const outside = framesOfStack(profile, siteStackOfContext(profile, context));
  const start = inside.findLastIndex((frame) => !isInlined(frame)) + 1;
  const real = outside.findIndex((frame) => !isInlined(frame));
  return [...inside.slice(start), ...(real < 0 ? outside : outside.slice(0, real + 1))];
}
