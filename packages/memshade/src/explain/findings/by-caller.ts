import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoStackTable,
  NONE,
  type None,
} from "../../profile/model/indices.ts";
import { siteStackOfContext } from "../../profile/model/site-frame.ts";

/** Contexts of a site that are called by one line of the program. */
export interface CalledContexts {
  readonly contexts: readonly IndexIntoContextTable[];
  /** Stack entry of the caller for each context; NONE for calls by the host. */
  readonly stacks: readonly (IndexIntoStackTable | None)[];
}

/**
 * Groups the contexts of a site by the calling line of the program's own code, in the order of their first
 * context.
 */
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

/** Returns the next outer frame that belongs to no library. */
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
