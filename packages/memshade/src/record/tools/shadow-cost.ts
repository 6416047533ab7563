import { heapBytesPerByte } from "./heap/memory-plan.ts";
import { type InstrumentOptions, TOOL_NAMES, type ToolName } from "./options.ts";
import { isPreciseMode, wasteBytesTouched } from "./waste/memory-plan.ts";
import { attributionBytesPerByte } from "./working-set/attribution/memory-plan.ts";
import { localityBytesPerByte } from "./working-set/locality/memory-plan.ts";
import { workingSetBytesPerByte } from "./working-set/memory-plan.ts";

type CostOptions = Pick<InstrumentOptions, "tools" | "waste" | "workingset">;

const COSTS: Readonly<Record<ToolName, (options: CostOptions) => number>> = {
  heap: () => heapBytesPerByte(true),
  alloc: () => heapBytesPerByte(false),
  waste: ({ waste = {} }) =>
    wasteBytesTouched({
      engine: isPreciseMode(waste) ? "full" : "brief",
      objects: waste.objects === true,
    }),
  workingset: ({ workingset: { locality, attribution } = {} }) =>
    workingSetBytesPerByte() +
    (locality === undefined ? 0 : localityBytesPerByte(locality)) +
    (attribution === undefined ? 0 : attributionBytesPerByte(attribution)),
  // Tables of this tool grow with the module's code and with samples, which are bounded.
  objects: () => 0,
};

/**
 * Returns the most bytes of shadow memory that the tools touch for each byte of memory that the program
 * touches. Memory that does not grow with the program, about 50 MB with the engine, is not included.
 */
export function shadowBytesPerByte(options: CostOptions): number {
  const tools = options.tools ?? ["heap"];
  return TOOL_NAMES.filter((tool) => tools.includes(tool)).reduce(
    (sum, tool) => sum + COSTS[tool](options),
    0,
  );
}

/** Options of tools that record a writer and a reader per byte. */
const COSTLY: Readonly<Partial<Record<ToolName, (options: CostOptions) => (string | false | undefined)[]>>> =
  {
    waste: ({ waste }) => [waste?.pairs && "--pairs", waste?.objects && "--objects"],
  };

/** Returns the given options with which the tools take many times the program's memory. */
export function costlyFlags(options: CostOptions): string[] {
  const tools = options.tools ?? [];
  return tools.flatMap((tool) => COSTLY[tool]?.(options) ?? []).filter((flag) => typeof flag === "string");
}
