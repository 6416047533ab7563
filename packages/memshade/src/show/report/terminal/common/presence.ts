import { formatBytes, formatLifetime } from "../../../../profile/model/format.ts";
import type { Presence, ProcessCost } from "../../../../profile/model/run.ts";
import type { Screen } from "./screen.ts";

const SAID = "what the profiler took";

/** Who took what, as lines of a report's head: whose they are, and a predicate. None where that is not known, or was said before. */
export function presenceInWords(
  screen: Screen,
  presence: Presence | undefined,
): [who: "Profiler" | "Process", took: string][] {
  if (presence === undefined || screen.said.has(SAID)) return [];
  screen.said.add(SAID);
  const { modules, shadow, recorded, process } = presence;
  const rewrote =
    `took ${formatBytes(shadow)} of shadow memory and tables, ${formatBytes(modules)} of rewritten modules and ` +
    `${formatBytes(recorded)} of recorded data; its own code and the engine's for the modules come on top`;
  // Native programs run as they are.
  const profiler =
    modules === 0
      ? `took ${formatBytes(shadow)} of tables and ${formatBytes(recorded)} of recorded data`
      : rewrote;
  return [["Profiler", profiler], ...(process === undefined ? [] : [processInWords(process)])];
}

function processInWords({
  peakBytes,
  processorMs,
  rewritingMs,
  profileMs,
  profilerAlone,
}: ProcessCost): ["Process", string] {
  const time = (ms: number): string => formatLifetime(ms, { kind: "wall", unit: "ms" });
  return [
    "Process",
    `took ${formatBytes(peakBytes)} at its peak and ${time(processorMs)} of processor time, ${profilerAlone === true ? "the profiler's alone, without the browser" : "program and profiler together"}; ` +
      `${time(rewritingMs)} of that rewrote modules and ${time(profileMs)} made the profile`,
  ];
}
