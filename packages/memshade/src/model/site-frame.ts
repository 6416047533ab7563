import type { HeapProfile } from "./heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "./indices.ts";
import { framesOfContext } from "./stacks.ts";

// Standard libraries as compilers record their files: libc++ and libstdc++, Rust's, those that come with SDKs.
const LIBRARY =
  /\/include\/(?:[^/]+\/)?c\+\+\/|\/rustc\/[0-9a-f]{40}\/|\/library\/(?:core|alloc|std)\/src\/|\/libcxx(?:abi)?\//;

/**
 * How far into a context's call stack the frame is that names its site: the innermost one, or, where functions of
 * a standard library were inlined there, the first one that is not of that library. At most the real function around
 * them.
 */
export function siteDepthOfContext(profile: HeapProfile, context: IndexIntoContextTable): number {
  const stack = framesOfContext(profile, context);
  let depth = 0;
  while (depth + 1 < stack.length && isInlinedLibrary(profile, stack[depth]!)) depth += 1;
  return depth;
}

/** The frame that names a context's site; undefined where no call path was recorded. */
export function siteFrameOfContext(
  profile: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoFrameTable | undefined {
  return framesOfContext(profile, context)[siteDepthOfContext(profile, context)];
}

/** The frames of the place that allocates: those inlined there, up to the real function. */
export function placeFramesOfContext(
  profile: HeapProfile,
  context: IndexIntoContextTable,
): IndexIntoFrameTable[] {
  const stack = framesOfContext(profile, context);
  const real = stack.findIndex((frame) => profile.frames.inlined[frame] === 0);
  return real < 0 ? stack : stack.slice(0, real + 1);
}

function isInlinedLibrary({ frames, strings }: HeapProfile, frame: IndexIntoFrameTable): boolean {
  const file = frames.file[frame]!;
  return frames.inlined[frame] === 1 && (file === NONE || LIBRARY.test(strings[file]!));
}
