import type { Presence } from "../../../model/run.ts";
import { formatBytes } from "../../format.ts";
import type { Screen } from "./screen.ts";

const SAID = "what the profiler took";

/** What the profiler took, as the text of a line in a report's head; undefined where it is not known, or was said before. */
export function presenceInWords(screen: Screen, presence: Presence | undefined): string | undefined {
  if (presence === undefined || screen.said.has(SAID)) return undefined;
  screen.said.add(SAID);
  const { modules, shadow, recorded } = presence;
  return (
    `took ${formatBytes(shadow)} of shadow memory and tables, ${formatBytes(modules)} of rewritten modules and ` +
    `${formatBytes(recorded)} of recorded data; its own code and the engine's for the modules come on top`
  );
}
