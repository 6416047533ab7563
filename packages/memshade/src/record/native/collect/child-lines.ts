import { counted, groupDigits } from "../../../profile/model/counted.ts";
import type { RunChild } from "../../../profile/model/run.ts";
import { quoteForShell } from "../../../profile/model/shell-words.ts";
import { fromHere } from "../../host/run/terminal-line.ts";
import type { WrittenChild } from "./profile-writer.ts";

/** Most children that are listed. The rest, which has allocated less, is counted. */
const CHILDREN_SHOWN = 20;

export function childLines(children: readonly WrittenChild[]): string[] {
  if (children.length === 0) return [];
  const shown = [...children]
    .sort((a, b) => (b.child.allocatedBytes ?? 0) - (a.child.allocatedBytes ?? 0))
    .slice(0, CHILDREN_SHOWN);
  const rest = children.length - shown.length;
  const named = children.filter((child) => shown.includes(child));
  const singular = children.length === 1 ? "1 child process has a run of its own" : undefined;
  return [
    `${singular ?? `${groupDigits(children.length)} child processes have runs of their own`}:`,
    ...named.map(
      ({ folder, child }) =>
        `  ${quoteForShell(fromHere(folder, process.cwd()))}: ${child.program}${blocksInWords(child)}`,
    ),
    ...(rest > 0 ? [`  and ${groupDigits(rest)} more, which have allocated less`] : []),
  ];
}

function blocksInWords({ allocations }: RunChild): string {
  return allocations === undefined ? "" : `, ${counted(allocations, "block", "blocks")}`;
}
