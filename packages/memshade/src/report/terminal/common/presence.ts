import type { Presence } from "../../../model/run.ts";
import { formatBytes } from "../../format.ts";
import type { Screen } from "./screen.ts";

const SAID = "what the profiler took";

/** What the profiler took, as the text of a line in a report's head; undefined where it is not known, or was said before. */
export function presenceInWords(screen: Screen, presence: Presence | undefined): string | undefined {
  if (presence === undefined || screen.said.has(SAID)) return undefined;
  screen.said.add(SAID);
  const { own, modules, shadow, recorded } = presence;
  const parts = [
    ...(own === 0 ? [] : [`${formatBytes(own)} for itself`]),
    `${formatBytes(modules)} for rewritten modules`,
    `${formatBytes(shadow)} of shadow memory and tables`,
    `${formatBytes(recorded)} of recorded data`,
  ];
  return `took about ${formatBytes(own + modules + shadow + recorded)} of memory: ${parts.join(", ")}`;
}
