import { readdirSync, readlinkSync } from "node:fs";

/** Descriptors of this process that refer to a file. Only Linux lists them. */
export function descriptorsOf(path: string): number[] {
  return readdirSync("/proc/self/fd")
    .filter((entry) => leadsTo(entry) === path)
    .map(Number);
}

/** Path of a descriptor. The descriptor that lists the others is closed by then. */
function leadsTo(entry: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${entry}`);
  } catch {
    return undefined;
  }
}
