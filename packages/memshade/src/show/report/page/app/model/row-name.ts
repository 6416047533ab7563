import { othersName } from "./merged.ts";
import { type FrameNames, lastPart } from "./names.ts";

/**
 * Returns name and location of a table row for its group.
 *
 * @param merged number of merged call paths of the row, if known
 */
export function rowName(
  names: FrameNames,
  frame: number,
  group: string,
  merged?: number,
): { name: string; place: string } {
  if (names.is(frame, "others")) return { name: othersName(merged), place: "" };
  const name = names.function(frame);
  const file = names.file(frame);
  switch (group) {
    case "package":
      return { name: names.package(frame), place: "" };
    case "file":
      return file === undefined
        ? { name: names.module(frame) ?? name, place: "unknown file" }
        : { name: lastPart(file), place: file };
    case "line":
      return file === undefined || names.line(frame) === 0
        ? { name, place: names.place(frame) }
        : { name: names.place(frame), place: name };
    case "function":
      return { name, place: file === undefined ? (names.module(frame) ?? "") : lastPart(file) };
    default:
      return { name, place: names.place(frame) };
  }
}
