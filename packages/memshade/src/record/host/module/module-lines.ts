import { openObject } from "../../../code/objects/index.ts";
import type { Frame } from "../../../names/symbolize/frame.ts";
import { Symbolizer } from "../../../names/symbolize/symbolizer.ts";
import type { LinesOf } from "../../tools/session.ts";

/** Resolves lines of a module by its own debug information; undefined if it has none that can be read. */
export const moduleLines: LinesOf = (original) => {
  try {
    const object = openObject(original);
    if (object.section(".debug_info") === undefined) return undefined;
    const symbolizer = new Symbolizer(object);
    return linesBy((offset) => symbolizer.frames(offset));
  } catch {
    return undefined;
  }
};

/** Resolves lines by a function that returns the frames at an offset, innermost first. */
export function linesBy(frames: (offset: number) => Frame[]): ReturnType<LinesOf> {
  return (offset) => {
    const [innermost, ...outer] = frames(offset);
    return outer.length === 0 ? innermost : { ...innermost!, outer };
  };
}
