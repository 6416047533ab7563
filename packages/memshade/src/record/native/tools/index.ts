import type { InsertedTool, NativeTool, NativeToolName, NativeToolOptions } from "../native-tool.ts";
import { nativeHeap } from "./heap.ts";
import { nativeWaste } from "./waste/plan-waste.ts";
import { nativeWorkingSet } from "./working-set/plan-marks.ts";

const MAKERS: Readonly<Record<NativeToolName, (options: NativeToolOptions) => NativeTool>> = {
  heap: nativeHeap,
  waste: nativeWaste,
  "working-set": nativeWorkingSet,
};

/** A tool by its name. Threads that rewrite make their own. */
export function nativeTool(name: NativeToolName, options: NativeToolOptions = {}): NativeTool {
  return MAKERS[name](options);
}

/** Whether a tool marks the lines that are touched. */
export function isMarking(tool: InsertedTool | undefined): boolean {
  return tool !== undefined && nativeTool(tool.name, tool.options).isMarking === true;
}

/** Addresses that the code of a tool uses, in bytes. */
export function shadowBytes({ name, options }: InsertedTool): number {
  return nativeTool(name, options).shadows.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Bytes at the beginning of a file of counts that code goes on needing when nothing is recorded any more. */
export function keptCountsBytes({ name, options }: InsertedTool): number {
  return nativeTool(name, options).keptBytes ?? 0;
}
