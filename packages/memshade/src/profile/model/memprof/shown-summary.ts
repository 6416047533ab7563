import { FrameTable, frameAt, type MemprofFrame } from "./frame-table.ts";
import { type MemprofSummary, type ProfileView, SummaryBuilder, wholeWord } from "./profile-view.ts";
import { StackTree } from "./stack-tree.ts";

/** Returns the frame without its inline flag, which LLVM ignores when it counts the contexts to show. */
export function placeOf({ guid, lineOffset, column }: MemprofFrame): MemprofFrame {
  return { guid, lineOffset, column, inline: false };
}

/**
 * Summarizes a profile for display: call stacks with the same code positions count once, with the block of the first
 * site in record order.
 */
export function shownSummary(profile: ProfileView): MemprofSummary {
  const { frames, records } = profile;
  const table = new FrameTable(false);
  const places = Array.from({ length: frames.length }, (_, index) =>
    table.intern(placeOf(frameAt(frames, index))),
  );
  if (table.length === frames.length) return profile.summary();
  const words = new Map(profile.fields.map((field) => [field.name, profile.field(field)]));
  const [count, size, lifetime, density] = (
    ["allocCount", "totalSize", "totalLifetime", "totalLifetimeAccessDensity"] as const
  ).map((name) => words.get(name));
  const stacks = new StackTree();
  const seen = new Set<number>();
  const path: number[] = [];
  const summary = new SummaryBuilder();
  for (let site = 0; site < records.allocStack.length; site++) {
    let stack = 0;
    for (let at = profile.framesOf(records.allocStack[site]!, path) - 1; at >= 0; at--)
      stack = stacks.child(stack, places[path[at]!]!);
    if (seen.has(stack)) continue;
    seen.add(stack);
    const row = records.allocBlock[site]!;
    const lived = wholeWord(lifetime, row);
    summary.add(count?.low(row) ?? 0, wholeWord(size, row), lived, wholeWord(density, row));
  }
  return summary.build();
}
