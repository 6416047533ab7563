import { markWorkingSet } from "../explain/analyses/frames/mark-frames.ts";
import { entryOf } from "../ground/bytes/entries.ts";
import { readableWorkingSet } from "../names/symbolize/readable-profiles.ts";
import { NONE } from "../profile/model/indices.ts";
import type { Run } from "../profile/model/run.ts";
import { readWorkingSet } from "../profile/model/working-set/read-working-set.ts";
import type { StackFrame, WorkingSetProfile } from "../profile/model/working-set/working-set.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { SiteNamer } from "./site-namer.ts";
import { ToolFile } from "./tool-file.ts";

/** The working set of a run's directory, its `run.json`, or a `workingset.json`. */
export const WORKING_SET_FILE = new ToolFile({
  tool: "workingset",
  name: "workingset.json",
  contents: "working set",
  read: readWorkingSet,
  readable: readableWorkingSet,
  nameSites,
  mark: markWorkingSet,
});

/**
 * Replaces the sites in a native program's stacks by functions and lines. Functions are numbered in the order
 * of their first use; inlined functions have frames of their own.
 */
export function nameSites(profile: WorkingSetProfile, run: Run, places: OriginalPlaces): void {
  if (!run.modules.some(({ object }) => object?.kind === "elf")) return;
  const namer = new SiteNamer(run, places);
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = entryOf(numbers, key, () => numbers.size);
    return number;
  };
  const named = ({ offset = 0 }: StackFrame): StackFrame[] =>
    namer
      .frames(offset)
      .toReversed()
      .map(({ function: name, module = NONE, file, line, startLine, inlined }) => {
        const moduleName = run.modules[module]?.name;
        return {
          function: numberOf(`${module} ${name}`),
          offset,
          name,
          ...(moduleName === undefined ? {} : { module: moduleName }),
          ...(file === undefined ? {} : { file }),
          ...(line === undefined ? {} : { line }),
          ...(startLine === undefined ? {} : { startLine }),
          ...(inlined ? { isInlined: true } : {}),
        };
      });
  for (const instance of profile.instances) {
    instance.stacks = instance.stacks.map((stack) => stack.flatMap(named));
    for (const context of instance.owners?.contexts ?? []) context.stack = context.stack.flatMap(named);
  }
  profile.notTracked.push(...namer.missing);
}
