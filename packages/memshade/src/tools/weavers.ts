import type { WeaveTool } from "../rewrite/tool.ts";
import type { WovenToolName } from "./options.ts";
import { weaveWaste } from "./waste/pass/weave-waste.ts";
import { weaveWorkingSet } from "./working-set/pass/weave.ts";

/** How each tool is woven into a module. */
export const WEAVERS: Readonly<Partial<Record<WovenToolName, WeaveTool>>> = {
  waste: weaveWaste,
  workingset: weaveWorkingSet,
};
