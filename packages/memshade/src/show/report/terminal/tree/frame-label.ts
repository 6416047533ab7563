import { bareName, codeOffset, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { StackFrame } from "../../../../explain/measures/measured-stacks.ts";
import { shortenName } from "../common/names.ts";
import { cutEnd, displayWidth, printable } from "../common/text.ts";

/** With less room for its name, a place loses its line. */
const LEAST_NAME = 8;

/** A frame in words that together take at most `width` columns: `parse`, ` (parse.c:88)`. */
export interface FrameLabel {
  readonly name: string;
  readonly place: string;
}

/** @param isFunction whether the frame stands for its whole function, so that no line is told */
export function frameLabel(frame: StackFrame, width: number, isFunction = false): FrameLabel {
  const full = frameName(frame);
  const place = isFunction ? "" : placeText(frame);
  const room = width - displayWidth(place);
  if (room < Math.min(LEAST_NAME, displayWidth(full)))
    return { name: cutEnd(shortenName(full, width), width), place: "" };
  return { name: shortenName(full, room), place };
}

/** `parse`, `func[12] of draw.wasm`, `[the C library]` */
export function frameName({ function: name, module, isWord }: StackFrame): string {
  if (isWord === true) return `[${name}]`;
  const own = name === undefined || name === "" ? "unknown code" : bareName(name);
  return module === undefined ? own : `${own} of ${printable(module)}`;
}

function placeText(frame: StackFrame): string {
  const place = shortPlace(frame);
  if (place !== undefined) return ` (${printable(place)})`;
  return frame.address === undefined || frame.isWord ? "" : ` (${codeOffset(frame.address)})`;
}
