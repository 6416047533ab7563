import { markWorkingSet } from "../explain/analyses/frames/mark-frames.ts";
import { readableWorkingSet } from "../names/symbolize/readable-profiles.ts";
import { NONE } from "../profile/model/indices.ts";
import type { Run } from "../profile/model/run.ts";
import { readWorkingSet } from "../profile/model/working-set/read-working-set.ts";
import type { StackFrame, WorkingSetProfile } from "../profile/model/working-set/working-set.ts";
import type { OwnCode } from "./own-code.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { SiteNamer } from "./site-namer.ts";
import { ToolFile } from "./tool-file.ts";

const FILE = new ToolFile({
  tool: "workingset",
  name: "workingset.json",
  contents: "working set",
  read: readWorkingSet,
  readable: readableWorkingSet,
  nameSites,
  mark: markWorkingSet,
});

/** Whether the run's directory (or the file) holds a working set, or says that there is one. */
export function hasWorkingSet(input: string): boolean {
  return FILE.isIn(input);
}

/**
 * Reads the working set of a run's directory, of its `run.json`, or of a `workingset.json`.
 *
 * @throws UserError in one line: nothing there, not recorded, damaged
 */
export function loadWorkingSet(input: string, options?: OwnCode & OriginalPlaces): WorkingSetProfile {
  return FILE.load(input, options);
}

/**
 * Gives the stacks of a native program's working set functions and lines: the file has sites. Functions are numbered as they come; those
 * that are inlined have frames of their own.
 */
export function nameSites(profile: WorkingSetProfile, run: Run, places: OriginalPlaces): void {
  if (!run.modules.some(({ object }) => object?.kind === "elf")) return;
  const namer = new SiteNamer(run, places);
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  };
  const named = ({ offset = 0 }: StackFrame): StackFrame[] =>
    namer
      .frames(offset)
      .toReversed()
      .map(({ function: name, module = NONE, file, line, startLine, inlined }) => {
        const of = run.modules[module]?.name;
        return {
          function: numberOf(`${module} ${name}`),
          offset,
          name,
          ...(of === undefined ? {} : { module: of }),
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
