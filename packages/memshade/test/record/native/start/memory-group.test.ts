import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { killedForMemory } from "../../../../src/record/native/start/memory-group.ts";

describe("the control group of a process", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function root(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), "memshade-group-"));
    folders.push(folder);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return folder;
  }

  it("says how many processes were ended for its limit of memory, in both versions", () => {
    const two = root({
      "proc/self/cgroup": "0::/system.slice/job\n",
      "sys/fs/cgroup/system.slice/job/memory.events": "low 0\nhigh 0\nmax 31\noom 3\noom_kill 3\n",
    });
    const one = root({
      "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/job\n0::/\n",
      "sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    });
    expect([two, one].map(killedForMemory)).toEqual([3, 2]);
  });

  it("is what a container has mounted, whatever it is called outside", () => {
    const inside = root({
      "proc/self/cgroup": "0::/../docker/1234\n",
      "sys/fs/cgroup/memory.events": "oom 1\noom_kill 1\n",
    });
    expect(killedForMemory(inside)).toBe(1);
  });

  it("may be nowhere to be seen", () => {
    expect(killedForMemory(root({}))).toBeUndefined();
    expect(killedForMemory(root({ "proc/self/cgroup": "0::/\n" }))).toBeUndefined();
  });
});
