import process from "node:process";
import { attempt } from "../../../ground/bytes/dispensable.ts";

// Copies of functions that programs may replace.
const now = performance.now.bind(performance);
const usage = process.threadCpuUsage?.bind(process);

/** Returns the processor time of this thread, ms; the elapsed time if Node does not know it. */
export const threadMs = isTold() ? processorMs : now;

function processorMs(): number {
  const { user, system } = usage();
  return (user + system) / 1000;
}

function isTold(): boolean {
  return attempt(() => processorMs() >= 0, false);
}
