import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoFrameTable, NONE } from "../../profile/model/indices.ts";

/** Returns true if the paths of a profile contain calls in the host, such as JavaScript. */
export function hasHostFrames({ frames }: HeapProfile): boolean {
  return frames.host?.some((host) => host !== undefined) === true;
}

/** Returns the profile without host frames. The marks of libraries must be computed again. */
export function withoutHostFrames(profile: HeapProfile): HeapProfile {
  const { stacks, frames, contexts } = profile;
  const prefix: number[] = [];
  const frame: IndexIntoFrameTable[] = [];
  const numbers = new Map<string, number>();
  // Callers precede callees.
  const newStacks = new Int32Array(stacks.length);
  for (let row = 0; row < stacks.length; row++) {
    const caller = stacks.prefix[row]!;
    const outer = caller === NONE ? NONE : newStacks[caller]!;
    const own = stacks.frame[row]!;
    if (frames.host?.[own] !== undefined) {
      newStacks[row] = outer;
      continue;
    }
    const key = `${outer} ${own}`;
    let number = numbers.get(key);
    if (number === undefined) {
      number = prefix.push(outer) - 1;
      frame.push(own);
      numbers.set(key, number);
    }
    newStacks[row] = number;
  }
  const stack = Int32Array.from(contexts.stack, (row) => (row === NONE ? NONE : newStacks[row]!));
  const { host: _, library: __, ...ownFrames } = frames;
  const { siteStack: ___, ...columns } = contexts;
  return {
    ...profile,
    frames: ownFrames,
    stacks: {
      length: prefix.length,
      prefix: Int32Array.from(prefix) as unknown as typeof stacks.prefix,
      frame: Int32Array.from(frame) as unknown as typeof stacks.frame,
    },
    contexts: { ...columns, stack: stack as unknown as typeof contexts.stack },
  };
}
