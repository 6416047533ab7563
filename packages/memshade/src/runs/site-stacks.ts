import { NONE } from "../model/indices.ts";
import type { Run } from "../model/run.ts";
import type { StackFrame, WorkingSetProfile } from "../model/working-set/working-set.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { SiteNamer } from "./site-namer.ts";

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
          ...{ function: numberOf(`${module} ${name}`), offset, name },
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
