import type { WovenToolName } from "./options.ts";
import type { WeaveTool } from "./tool-pass.ts";
import { weaveWaste } from "./waste/weave-waste.ts";
import { weaveWorkingSet } from "./working-set/weave.ts";

/** How each tool is woven into a module. */
export const WEAVERS: Readonly<Partial<Record<WovenToolName, WeaveTool>>> = {
  waste: weaveWaste,
  workingset: weaveWorkingSet,
};
