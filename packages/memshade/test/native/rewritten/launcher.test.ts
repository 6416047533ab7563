import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Launch, STEP, writeLauncher } from "../../../src/native/rewritten/launcher.ts";
import { REFUSED } from "../../../src/native/rewritten/loader-copy.ts";

const hasNamespaces =
  process.platform === "linux" &&
  process.arch === "x64" &&
  spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!hasNamespaces) console.warn("SKIPPED: there are no mount namespaces here: no launcher is started");

describe.skipIf(!hasNamespaces)("a launcher", () => {
  // Other users can look into that.
  const folder = mkdtempSync("/tmp/memshade-launcher-");
  const inFolder = (name: string): string => join(folder, name);
  const failure = inFolder("failure");
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(inFolder("one"), "one\n");
  writeFileSync(inFolder("other"), "other\n");

  function start(launch: Partial<Launch>, args: string[], more: { uid?: number; gid?: number } = {}) {
    rmSync(failure, { force: true });
    const all = { mounts: [], program: "/bin/cat", ids: undefined, failure, ...launch };
    writeFileSync(inFolder("launcher"), writeLauncher(all), { mode: 0o755 });
    return spawnSync(inFolder("launcher"), args, {
      ...more,
      encoding: "utf8",
      argv0: "name",
      env: { A: "1" },
    });
  }
  const failed = (): number[] => [...new Uint32Array(new Uint8Array(readFileSync(failure)).buffer)];

  it("becomes the program, which finds files in the place of others, and nobody else does", () => {
    const mounts = [{ file: inFolder("other"), path: inFolder("one") }];
    const { stdout, status } = start({ mounts }, [
      inFolder("one"),
      "/proc/self/environ",
      "/proc/self/cmdline",
    ]);
    const words = ["name", inFolder("one"), "/proc/self/environ", "/proc/self/cmdline"];
    expect({ stdout, status }).toEqual({ stdout: `other\nA=1\0${words.join("\0")}\0`, status: 0 });
    expect(readFileSync(inFolder("one"), "utf8")).toBe("one\n");
  });

  it("leaves what failed: which step, and the system's number", () => {
    const mounts = [
      { file: inFolder("other"), path: inFolder("one") },
      { file: inFolder("other"), path: inFolder("gone") },
    ];
    expect(start({ mounts }, []).status).toBe(REFUSED);
    expect(failed()).toEqual([STEP.mount + 1, 2]);
    expect(start({ program: inFolder("one") }, []).status).toBe(REFUSED);
    expect(failed()).toEqual([STEP.execute, 13]);
  });

  it.skipIf(process.getuid?.() !== 0)("serves users without rights, and the program gets none", () => {
    spawnSync("chmod", ["755", folder]);
    const [uid, gid] = [65534, 65534];
    const { stdout, status } = start({ ids: { user: uid, group: gid } }, ["/proc/self/status"], { uid, gid });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
    for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"])
      expect(stdout).toContain(`Cap${set}:\t0000000000000000`);
  });
});
