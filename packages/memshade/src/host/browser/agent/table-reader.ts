/**
 * What is needed of a context's tables when they are read, which is more than its agent brings along: the process adds it where there
 * is an instance. A script by itself, which leaves `memshadeReader`.
 */
import { ShadowReader } from "../../../tools/heap/read/read-shadow.ts";
import { wasteDescription } from "../../../tools/waste/description.ts";
import { WasteReader } from "../../../tools/waste/read/read-waste.ts";
import { furtherMemories } from "../../instance/host-calls.ts";
import { lookThroughNow } from "../../instance/wasm-frames.ts";
import type { TableReader } from "../messages.ts";
import { usedParts } from "./used-parts.ts";

export const reader: TableReader = {
  usedParts,
  lookThrough: lookThroughNow,
  reset(memories, info) {
    if (memories.heap !== undefined && info.layout !== undefined)
      new ShadowReader(memories.heap, info.layout, info).forgetEnded();
    if (memories.waste !== undefined && wasteDescription(info) !== undefined)
      new WasteReader(memories.waste, info, furtherMemories(memories, "waste")).reset();
  },
};
