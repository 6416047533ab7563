import { namedHostFrame } from "../../../../profile/model/host-frame.ts";
import type { RunHostFrame } from "../../../../profile/model/run.ts";
import type { StackFrame } from "../../../../profile/model/working-set/working-set.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { LinesOf } from "../../session.ts";
import { innermostMembers } from "../../source-places.ts";
import { HOST_FRAMES, type NotedFrame } from "./note-stack.ts";

/** The noted stacks, each once, and their places by the numbers they were noted under. */
export interface DescribedStacks {
  stacks: StackFrame[][];
  numbers: Map<number, number>;
}

/** Functions of the host have numbers from here on. */
const FIRST_OF_HOST = 2 ** 31;

/** Describes frames of the host; each of its functions has a number of its own. */
export function hostFrameNumbers(): (frame: RunHostFrame) => StackFrame {
  const ofHost = new Map<string, number>();
  return (frame) => {
    const { column: _, ...named } = namedHostFrame(frame);
    const key = `${named.name}\n${named.file}`;
    const known = ofHost.get(key) ?? FIRST_OF_HOST + ofHost.size;
    ofHost.set(key, known);
    return { function: known, ...named };
  };
}

/**
 * Gives the frames of noted stacks functions and, where there is debug information, lines. `original`: the plain module. `hostFramesOf`:
 * the frames of a stack of the host by its number, innermost first.
 */
export function describeStacks(
  noted: ReadonlyMap<number, readonly NotedFrame[]>,
  original: () => Uint8Array,
  linesOf: LinesOf | undefined,
  hostFramesOf: (number: number) => readonly RunHostFrame[],
): DescribedStacks {
  const hostFrame = hostFrameNumbers();
  const stacks: StackFrame[][] = [];
  const numbers = new Map<number, number>();
  const all = [...noted.values()].flat().filter((frame) => frame.function !== HOST_FRAMES);
  if (all.length === 0) return { stacks, numbers };
  const functions = new ModuleFunctions(original());
  const places = linesOf?.(original());
  const byIndex = new Map(functions.at(all.map((frame) => frame.function)).map((one) => [one.index, one]));
  const offsets = new Set(all.flatMap(({ offset }) => (offset < 0 ? [] : offset)));
  const byOffset = new Map([...offsets].map((offset) => [offset, functions.holding(offset)]));
  for (const [number, frames] of noted) {
    const known: StackFrame[] = [];
    for (const { function: index, offset } of frames) {
      if (index === HOST_FRAMES) {
        known.push(...hostFramesOf(offset).map(hostFrame));
        continue;
      }
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
