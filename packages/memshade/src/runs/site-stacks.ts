import type { Run } from "../model/run.ts";
import type { StackFrame, WorkingSetProfile } from "../model/working-set/working-set.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { SiteNamer } from "./site-namer.ts";

/**
 * Gives the stacks of a native program's working set functions and lines: the file has sites. Functions are numbered as they come, those
 * that are inlined as part of the one that they are in.
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
  const named = ({ offset }: StackFrame): StackFrame => {
    // Outermost first.
    const all = namer.frames(offset ?? 0);
    const [outer, inner] = [all[0], all[all.length - 1]];
    const { file, line, startLine } = inner;
    return {
      function: numberOf(`${outer.module} ${outer.function}`),
      ...(offset === undefined ? {} : { offset }),
      name: outer.function,
      ...(outer.module === undefined ? {} : { module: run.modules[outer.module].name }),
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
      ...(startLine === undefined ? {} : { startLine }),
      ...(inner === outer ? {} : { inlined: inner.function }),
    };
  };
  for (const instance of profile.instances)
    instance.stacks = instance.stacks.map((stack) => stack.map(named));
  profile.notTracked.push(...namer.missing);
}
