import { HEAP_MEASURES } from "./heap.ts";
import type { ToolMeasures } from "./measure.ts";
import type { MeasuredTool } from "./measured-stacks.ts";
import { OBJECT_MEASURES } from "./objects.ts";
import { STATIC_MEASURES } from "./statics.ts";
import { WASTE_MEASURES } from "./waste.ts";
import { WORKING_SET_MEASURES } from "./working-set.ts";

/** Table of tools with measures, in display order. Every view walks this table. */
export const TOOLS: Readonly<Record<MeasuredTool, ToolMeasures>> = {
  heap: HEAP_MEASURES,
  waste: WASTE_MEASURES,
  workingset: WORKING_SET_MEASURES,
  objects: OBJECT_MEASURES,
  statics: STATIC_MEASURES,
};
