import { weaveAlloc } from "./alloc.ts";
import { weaveHeap } from "./heap/pass/weave-heap.ts";
import { weaveObjects } from "./objects/pass.ts";
import type { ToolName } from "./options.ts";
import type { WeaveTool } from "./tool.ts";
import { weaveWaste } from "./waste/pass/weave-waste.ts";
import { weaveWorkingSet } from "./working-set/pass/weave-working-set.ts";

/** Inserters of all tools, in the order of their memories and globals. */
export const WEAVERS: Readonly<Record<ToolName, WeaveTool>> = {
  heap: weaveHeap,
  alloc: weaveAlloc,
  waste: weaveWaste,
  workingset: weaveWorkingSet,
  objects: weaveObjects,
};

/** Tools that follow no linear memory, so a module need not have one. */
export const WITHOUT_MEMORY: ReadonlySet<ToolName> = new Set(["objects"]);
