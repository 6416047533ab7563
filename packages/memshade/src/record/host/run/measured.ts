import { readFileSync } from "node:fs";
import {
  MEASURED_SCHEMA,
  MEASURED_VERSION,
  type ProcessCost,
  type ProcessMemory,
  type RunEnd,
} from "../../../profile/model/run.ts";
import { type Profile, type ProfileFile, profileFiles, type Recorder } from "./recorder.ts";
import { threadMs } from "./thread-time.ts";

export const MEASURED_FILE = "measured.json";

/**
 * Takes a profile and the files of its run folder, with a file of the resources that this process has used until now.
 * @param isProfilerAlone true if the program runs in other processes
 */
export function takeRun(
  recorder: Recorder,
  end: RunEnd,
  rewritingMs: number,
  isProfilerAlone = false,
): { profile: Profile; files: ProfileFile[] } {
  const start = threadMs();
  const profile = recorder.takeProfile(end);
  profile.run.files.measured = MEASURED_FILE;
  const files = profileFiles(profile);
  const { user, system } = process.cpuUsage();
  const cost: ProcessCost = {
    peakBytes: peakBytes(),
    processorMs: Math.round((user + system) / 1000),
    rewritingMs: Math.round(rewritingMs),
    profileMs: Math.round(threadMs() - start),
    ...(isProfilerAlone ? { profilerAlone: true } : {}),
  };
  return { profile, files: [measuredFile(cost), ...files] };
}

/** Returns the file for figures that differ from run to run. */
export function measuredFile(what: ProcessCost | { memory: ProcessMemory }): ProfileFile {
  const measured = { schema: MEASURED_SCHEMA, version: MEASURED_VERSION, ...what };
  return { name: MEASURED_FILE, contents: `${JSON.stringify(measured, null, 2)}\n` };
}

function peakBytes(): number {
  try {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"))!;
    return Number(kib) * 1024;
  } catch {
    // Fallback for other systems. On Linux this would count the memory of the parent process, if that had more.
    return process.resourceUsage().maxRSS * 1024;
  }
}
