import { readdirSync, readlinkSync } from "node:fs";

/** Descriptors of this process that lead to a file. Linux alone lists them. */
export function descriptorsOf(path: string): number[] {
  return readdirSync("/proc/self/fd")
    .filter((entry) => leadsTo(entry) === path)
    .map(Number);
}

/** The descriptor that lists the others is closed when it is looked at. */
function leadsTo(entry: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${entry}`);
  } catch {
    return undefined;
  }
}
