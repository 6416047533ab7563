import process from "node:process";

// As they are before the program can replace them.
const now = performance.now.bind(performance);
const usage = process.threadCpuUsage?.bind(process);

/** Processor time that this thread has taken, ms; where Node does not tell it, the time that has passed. */
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
