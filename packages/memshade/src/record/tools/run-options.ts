import type { HeapOptions } from "./heap-options.ts";
import {
  type InstrumentOptions,
  type ObjectsOptions,
  TOOL_NAMES,
  type ToolName,
  type WasteOptions,
  type WorkingSetOptions,
} from "./options.ts";

/** Options of recording, for all tools. Every field is optional. */
export interface ToolOptions extends HeapOptions {
  /** Tools to insert. Default: the heap profiler alone. */
  tools?: readonly ToolName[] | undefined;
  waste?: WasteOptions | undefined;
  workingset?: WorkingSetOptions | undefined;
  objects?: ObjectsOptions | undefined;
  /**
   * Waste: absolute path of a file with results of an earlier run. The file is read if it exists, and this
   * run is written to it. See `LearnedRuns`.
   */
  learn?: string | undefined;
  /** Absolute path of the folder with modules that earlier runs have rewritten. Default: each run rewrites them. */
  cache?: string | undefined;
}

/**
 * Returns the tools whose records a run may have. If no tools are named, modules that have only objects get
 * the objects tool.
 */
export function recordedToolsOf(options: ToolOptions): ToolName[] {
  return options.tools === undefined ? ["heap", "objects"] : toolsOf(options);
}

/** Returns the tools in their fixed order, each once. */
export function toolsOf(options: ToolOptions): ToolName[] {
  const names = options.tools ?? ["heap"];
  return TOOL_NAMES.filter((tool) => names.includes(tool));
}

export function toInstrumentOptions(from: ToolOptions): InstrumentOptions {
  const options: InstrumentOptions = { tools: toolsOf(from) };
  if (from.tools === undefined) options.chooseTool = true;
  if (from.clock !== undefined) options.clock = from.clock;
  if (from.exactHistogram !== undefined) options.exactHistogram = from.exactHistogram;
  if (from.includeStack !== undefined) options.includeStack = from.includeStack;
  if (from.includeAllocator !== undefined) options.includeAllocator = from.includeAllocator;
  if (from.allocator !== undefined) options.allocator = from.allocator;
  if (from.maxContexts !== undefined) options.maxContexts = from.maxContexts;
  if (from.maxBlocks !== undefined) options.maxBlocks = from.maxBlocks;
  if (from.hostStacks !== undefined) options.hostStacks = from.hostStacks;
  if (from.waste !== undefined) options.waste = from.waste;
  if (from.workingset !== undefined) options.workingset = from.workingset;
  if (from.objects !== undefined) options.objects = from.objects;
  return options;
}
