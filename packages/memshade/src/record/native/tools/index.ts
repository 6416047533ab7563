import type { InsertedTool, NativeTool, NativeToolName, NativeToolOptions } from "../native-tool.ts";
import { nativeHeap } from "./heap.ts";
import { nativeWaste } from "./waste/plan-waste.ts";
import { nativeWorkingSet } from "./working-set/plan-marks.ts";

const MAKERS: Readonly<Record<NativeToolName, (options: NativeToolOptions) => NativeTool>> = {
  heap: nativeHeap,
  waste: nativeWaste,
  "working-set": nativeWorkingSet,
};

/** Makes a tool by name. Each thread that rewrites needs a tool of its own. */
export function nativeTool(name: NativeToolName, options: NativeToolOptions = {}): NativeTool {
  return MAKERS[name](options);
}

export function isMarking(tool: InsertedTool | undefined): boolean {
  return tool !== undefined && nativeTool(tool.name, tool.options).isMarking === true;
}

/** Returns the size of the address range that a tool's code uses, bytes. */
export function shadowBytes({ name, options }: InsertedTool): number {
  return nativeTool(name, options).shadows.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns the size of the part of a counts file that inserted code still needs after recording has ended, bytes. */
export function usedCountsBytes({ name, options }: InsertedTool): number {
  return nativeTool(name, options).keptBytes ?? 0;
}
