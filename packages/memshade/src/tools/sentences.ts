import type { InstrumentedInfo, WovenToolName } from "./index.ts";

/** What a tool said of a module when it was woven in, without what other tools said. */
export function sentencesOfTool({ toolLayouts }: InstrumentedInfo, tool: WovenToolName): string[] {
  return String(toolLayouts?.[tool]?.notTracked ?? "")
    .split("\n")
    .filter((sentence) => sentence !== "");
}
