import type { InstrumentedInfo, ToolName } from "./index.ts";

export function sentencesOfTool({ toolLayouts }: InstrumentedInfo, tool: ToolName): string[] {
  return String(toolLayouts?.[tool]?.notTracked ?? "")
    .split("\n")
    .filter((sentence) => sentence !== "");
}

/** Returns all sentences about code and data of a module that a tool does not see. */
export function sentencesOfModule(info: InstrumentedInfo): string[] {
  const ofTools = info.tools.flatMap((tool) => sentencesOfTool(info, tool));
  return [...info.notTracked, ...ofTools, ...Object.values(info.notRecorded ?? {})];
}
