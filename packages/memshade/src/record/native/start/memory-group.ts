import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Mount points of control groups in versions 2 and 1, and files with their counts. */
const VERSIONS = [
  { line: /^0::(.*)$/m, mount: "/sys/fs/cgroup", events: "memory.events" },
  {
    line: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
    mount: "/sys/fs/cgroup/memory",
    events: "memory.oom_control",
  },
] as const;

/**
 * Returns how many processes the kernel has killed because the control group of this process was out of
 * memory; undefined if it is unknown. Programs that this process starts are in the same group. In a
 * container, the mounted group is the right one, whatever its name outside is.
 * @param root root of the file system
 */
export function killedForMemory(root = "/"): number | undefined {
  const groups = tryRead(join(root, "proc/self/cgroup")) ?? "";
  for (const { line, mount, events } of VERSIONS) {
    const [, group] = line.exec(groups) ?? [];
    if (group === undefined) continue;
    for (const folder of [join(root, mount, group), join(root, mount)]) {
      const [, count] = /^oom_kill (\d+)$/m.exec(tryRead(join(folder, events)) ?? "") ?? [];
      if (count !== undefined) return Number(count);
    }
  }
  return undefined;
}

function tryRead(file: string): string | undefined {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return undefined;
  }
}
