import { readFileSync } from "node:fs";

/** A line of `/proc/PID/maps` with code that lies in a file. */
const CODE = /^\S+ ..x. \S+ \S+ \S+ +(\/.*)$/gm;

/** Paths of the files that a process has mapped as code, as it finds them; none where it has ended, or nobody may look. */
export function mappedCode(pid: number): Set<string> {
  try {
    const maps = readFileSync(`/proc/${pid}/maps`, "utf8");
    return new Set([...maps.matchAll(CODE)].map(([, path]) => path));
  } catch {
    return new Set();
  }
}
