import { functionGuid } from "../../profile/formats/memprof/index.ts";
import type { WasteFrame } from "../../profile/model/waste/waste.ts";
import type { StoredFrame } from "../stored-run.ts";

/**
 * A frame of a tool that knows no GUIDs.
 *
 * @param offset of its code, for frames without a line
 */
export function sourceFrame(
  { function: name = "a call from outside", file, line = 0, startLine = 0 }: WasteFrame,
  offset: number,
  module = "",
): StoredFrame {
  const isPlaced = line !== 0;
  return {
    guid: functionGuid(name),
    lineOffset: isPlaced ? Math.max(0, line - startLine) : offset,
    column: 0,
    inline: false,
    name,
    file,
    line,
    ...(isPlaced ? {} : { place: { buildId: module, offset } }),
  };
}
