import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoStackTable,
  NONE,
  type None,
} from "../../profile/model/indices.ts";
import { siteStackOfContext } from "../../profile/model/site-frame.ts";

/** The contexts of a site that one line of the program calls. */
export interface CalledContexts {
  readonly contexts: readonly IndexIntoContextTable[];
  /** Where the caller stands on the stack of each; none: what the host calls. */
  readonly stacks: readonly (IndexIntoStackTable | None)[];
}

/** The contexts of a site by the line of the program's own code that calls it, in the order of their first context. */
export function byCaller(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): readonly CalledContexts[] {
  const groups = new Map<
    string,
    { contexts: IndexIntoContextTable[]; stacks: (IndexIntoStackTable | None)[] }
  >();
  for (const context of contexts) {
    const stack = callerOf(profile, siteStackOfContext(profile, context));
    const key = lineOf(profile, stack);
    const group = groups.get(key) ?? { contexts: [], stacks: [] };
    groups.set(key, group);
    group.contexts.push(context);
    group.stacks.push(stack);
  }
  return [...groups.values()];
}

/** The next frame outwards that is of no library. */
function callerOf(
  { stacks, frames }: HeapProfile,
  site: IndexIntoStackTable | None,
): IndexIntoStackTable | None {
  let stack = site === NONE ? NONE : stacks.prefix[site]!;
  while (stack !== NONE && frames.library?.[stacks.frame[stack]!] !== undefined)
    stack = stacks.prefix[stack]!;
  return stack;
}

function lineOf({ stacks, frames }: HeapProfile, stack: IndexIntoStackTable | None): string {
  if (stack === NONE) return "";
  const frame = stacks.frame[stack]!;
  const isKnown = frames.file[frame] !== NONE && frames.line[frame] !== 0;
  return isKnown ? `${frames.function[frame]} ${frames.file[frame]} ${frames.line[frame]}` : `${frame}`;
}
