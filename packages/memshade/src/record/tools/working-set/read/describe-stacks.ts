import { entryOf } from "../../../../ground/bytes/entries.ts";
import { namedHostFrame } from "../../../../profile/model/host-frame.ts";
import type { RunHostFrame } from "../../../../profile/model/run.ts";
import type { StackFrame } from "../../../../profile/model/working-set/working-set.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { LinesOf } from "../../session.ts";
import { innermostMembers } from "../../source-places.ts";
import { HOST_FRAMES, type NotedFrame } from "./note-stack.ts";

/** Recorded call stacks, each once, and their indices by the numbers under which they were recorded. */
export interface DescribedStacks {
  stacks: StackFrame[][];
  numbers: Map<number, number>;
}

const FIRST_OF_HOST = 2 ** 31;

/** Returns a function that describes frames of the host. Each function of the host has a number of its own. */
export function hostFrameNumbers(): (frame: RunHostFrame) => StackFrame {
  const ofHost = new Map<string, number>();
  return (frame) => {
    const { column: _, ...named } = namedHostFrame(frame);
    const key = `${named.name}\n${named.file}`;
    const number = entryOf(ofHost, key, () => FIRST_OF_HOST + ofHost.size);
    return { function: number, ...named };
  };
}

/**
 * Resolves the frames of recorded stacks to functions and, with debug information, lines. `original`: the module before
 * instrumentation. `hostFramesOf`: the frames of a stack of the host by its number, innermost first.
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
  const wasmFrames = [...noted.values()].flat().filter((frame) => frame.function !== HOST_FRAMES);
  if (wasmFrames.length === 0) return { stacks, numbers };
  const functions = new ModuleFunctions(original());
  const places = linesOf?.(original());
  const byIndex = new Map(
    functions.at(wasmFrames.map((frame) => frame.function)).map((one) => [one.index, one]),
  );
  const offsets = new Set(wasmFrames.flatMap(({ offset }) => (offset < 0 ? [] : offset)));
  const byOffset = new Map([...offsets].map((offset) => [offset, functions.holding(offset)]));
  for (const [number, frames] of noted) {
    const describedFrames: StackFrame[] = [];
    for (const { function: index, offset } of frames) {
      if (index === HOST_FRAMES) {
        describedFrames.push(...hostFramesOf(offset).map(hostFrame));
        continue;
      }
      // The code of a function that was replaced keeps its offsets, although its index is new.
      const described = byOffset.get(offset) ?? byIndex.get(index);
      if (described === undefined || describedFrames.at(-1)?.function === described.index) continue;
      const place = offset < 0 ? undefined : places?.(offset);
      describedFrames.push({
        function: described.index,
        ...(offset < 0 ? {} : { offset }),
        ...(described.name === undefined ? {} : { name: described.name }),
        ...innermostMembers(place),
      });
    }
    if (describedFrames.length > 0) numbers.set(number, stacks.push(describedFrames) - 1);
  }
  return { stacks, numbers };
}
