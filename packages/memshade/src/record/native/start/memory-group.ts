import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Where control groups are mounted, in version 2 and in version 1, and what they count in. */
const VERSIONS = [
  { line: /^0::(.*)$/m, mount: "/sys/fs/cgroup", events: "memory.events" },
  {
    line: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
    mount: "/sys/fs/cgroup/memory",
    events: "memory.oom_control",
  },
] as const;

/**
 * How many processes the kernel has ended so far because the control group of this process, which a program that it starts is in too,
 * had no memory left; undefined where nobody says. In a container the group is what is mounted, whatever it is called outside.
 *
 * @param root of the file system
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
