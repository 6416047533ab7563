import { readFileSync } from "node:fs";

const CODE = /^\S+ ..x. \S+ \S+ \S+ +(\/.*)$/gm;

/** Returns the paths of files that a process has mapped as code; empty if it has ended or cannot be read. */
export function mappedCode(pid: number): Set<string> {
  try {
    const maps = readFileSync(`/proc/${pid}/maps`, "utf8");
    return new Set([...maps.matchAll(CODE)].map(([, path]) => path));
  } catch {
    return new Set();
  }
}
