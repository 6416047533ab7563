import type { StackFrame } from "../../../model/working-set/working-set.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { LinesOf } from "../../session.ts";
import { innermostMembers } from "../../source-places.ts";
import type { NotedFrame } from "./note-stack.ts";

/** The noted stacks, each once, and their places by the numbers they were noted under. */
export interface DescribedStacks {
  stacks: StackFrame[][];
  numbers: Map<number, number>;
}

/** Gives the frames of noted stacks functions and, where there is debug information, lines. `original`: the plain module. */
export function describeStacks(
  noted: ReadonlyMap<number, readonly NotedFrame[]>,
  original: () => Uint8Array,
  linesOf: LinesOf | undefined,
): DescribedStacks {
  const stacks: StackFrame[][] = [];
  const numbers = new Map<number, number>();
  const all = [...noted.values()].flat();
  if (all.length === 0) return { stacks, numbers };
  const functions = new ModuleFunctions(original());
  const places = linesOf?.(original());
  const byIndex = new Map(functions.at(all.map((frame) => frame.function)).map((one) => [one.index, one]));
  const offsets = new Set(all.flatMap(({ offset }) => (offset < 0 ? [] : offset)));
  const byOffset = new Map([...offsets].map((offset) => [offset, functions.holding(offset)]));
  for (const [number, frames] of noted) {
    const known: StackFrame[] = [];
    for (const { function: index, offset } of frames) {
      // A function that stands aside for another one has a new index, but its code has its place.
      const described = byOffset.get(offset) ?? byIndex.get(index);
      // Functions that instrumentation added are nobody's business.
      if (described === undefined || known.at(-1)?.function === described.index) continue;
      const place = offset < 0 ? undefined : places?.(offset);
      known.push({
        function: described.index,
        ...(offset < 0 ? {} : { offset }),
        ...(described.name === undefined ? {} : { name: described.name }),
        ...innermostMembers(place),
      });
    }
    if (known.length > 0) numbers.set(number, stacks.push(known) - 1);
  }
  return { stacks, numbers };
}
