import type { InstrumentedInfo, ToolName } from "./index.ts";

/** What a tool said of a module when it was woven in, without what other tools said. */
export function sentencesOfTool({ toolLayouts }: InstrumentedInfo, tool: ToolName): string[] {
  return String(toolLayouts?.[tool]?.notTracked ?? "")
    .split("\n")
    .filter((sentence) => sentence !== "");
}

/** All that is not seen of a module, whichever tool it is that does not see it. */
export function sentencesOfModule(info: InstrumentedInfo): string[] {
  const ofTools = info.tools.flatMap((tool) => sentencesOfTool(info, tool));
  return [...info.notTracked, ...ofTools, ...Object.values(info.notRecorded ?? {})];
}
