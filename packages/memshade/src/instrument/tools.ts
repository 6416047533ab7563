import type { WovenToolName } from "./options.ts";
import type { WeaveTool } from "./tool-pass.ts";

/** How each tool is woven into a module. */
export const WEAVERS: Readonly<Partial<Record<WovenToolName, WeaveTool>>> = {};
