import type { MemprofSummary } from "../../model/memprof/index.ts";

export function summaryLines(summary: MemprofSummary): string {
  return [
    "# MemProfSummary:",
    `#   Total contexts: ${summary.contexts}`,
    `#   Total cold contexts: ${summary.coldContexts}`,
    `#   Total hot contexts: ${summary.hotContexts}`,
    `#   Maximum cold context total size: ${summary.maxColdTotalSize}`,
    `#   Maximum warm context total size: ${summary.maxWarmTotalSize}`,
    `#   Maximum hot context total size: ${summary.maxHotTotalSize}`,
    "",
  ].join("\n");
}
