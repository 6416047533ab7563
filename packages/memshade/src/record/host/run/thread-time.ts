import process from "node:process";

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
  try {
    return processorMs() >= 0;
  } catch {
    return false;
  }
}
