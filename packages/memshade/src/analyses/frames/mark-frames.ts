import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoFrameTable, type IndexIntoFunctionTable, NONE } from "../../model/indices.ts";
import type { WasteFile, WasteFrame } from "../../model/waste/waste.ts";
import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";
import type { FrameRules } from "./frame-rules.ts";
import { START_UP } from "./libraries.ts";

/** A heap profile whose frames say of what library they are, and whose sites are named by the program's own code. */
export function withOwnSites(profile: HeapProfile, rules: FrameRules): HeapProfile {
  const library = librariesOfFrames(profile, rules);
  const { stacks, contexts } = profile;
  // Callers stand before what they call.
  const own = new Int32Array(stacks.length);
  const start = new Int32Array(stacks.length);
  for (let row = 0; row < stacks.length; row++) {
    const of = library[stacks.frame[row]!];
    const caller = stacks.prefix[row]!;
    own[row] = of === undefined ? row : caller === NONE ? NONE : own[caller]!;
    start[row] = of === START_UP ? row : caller === NONE ? NONE : start[caller]!;
  }
  const siteOf = (stack: number): number => {
    if (stack === NONE) return NONE;
    if (own[stack] !== NONE) return own[stack]!;
    return start[stack] === NONE ? stack : start[stack]!;
  };
  const siteStack = Int32Array.from(contexts.stack, siteOf);
  return {
    ...profile,
    frames: { ...profile.frames, library },
    contexts: { ...contexts, siteStack: siteStack as unknown as typeof contexts.stack },
  };
}

function librariesOfFrames(profile: HeapProfile, rules: FrameRules): (string | undefined)[] {
  const { frames, functions, strings } = profile;
  const textOf = (string: number): string | undefined => (string === NONE ? undefined : strings[string]);
  return Array.from({ length: frames.length }, (_, row) => {
    const name = functions.name[frames.function[row as IndexIntoFrameTable] as IndexIntoFunctionTable]!;
    return rules.libraryOf({ function: textOf(name), file: textOf(frames.file[row]!) });
  });
}

/** Has the places of a waste profile say of what library they are. */
export function markWaste(file: WasteFile, rules: FrameRules): void {
  const sites = [file.stores, file.loads, file.reallocations, file.objects, file.ends].flatMap(
    (part): { ips: readonly (WasteFrame & { inlined?: WasteFrame[] | undefined })[] }[] => part ?? [],
  );
  for (const { ips } of sites)
    for (const ip of ips)
      for (const frame of [ip, ...(ip.inlined ?? [])]) frame.library = rules.libraryOf(frame);
}

/** Has the frames of a working set say of what library they are. */
export function markWorkingSet(profile: WorkingSetProfile, rules: FrameRules): void {
  for (const { stacks, firstTouch, owners, locality } of profile.instances) {
    const attributed = [firstTouch, owners].flatMap((part) => part?.contexts ?? []);
    for (const frame of [...stacks, ...attributed.map(({ stack }) => stack)].flat())
      frame.library = rules.libraryOf({ function: frame.name, file: frame.file });
    for (const { frame, file } of locality?.sites ?? [])
      if (frame !== undefined) frame.library = rules.libraryOf({ function: frame.name, file });
  }
}
