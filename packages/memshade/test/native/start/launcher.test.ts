import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { enterNamespace, type Namespace, STEP } from "../../../src/native/rewritten/enter-namespace.ts";
import { REFUSED, REPORT, REPORTS, writeLauncher } from "../../../src/native/start/launcher.ts";

const isLinux = process.platform === "linux" && process.arch === "x64";
const hasNamespaces = isLinux && spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!hasNamespaces) console.warn("SKIPPED: there are no mount namespaces here: no launcher makes one");

describe.skipIf(!isLinux)("a launcher", () => {
  // Other users can look into that.
  const folder = mkdtempSync("/tmp/memshade-launcher-");
  const inFolder = (name: string): string => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(inFolder("one"), "one\n");
  writeFileSync(inFolder("other"), "other\n");

  function start(program: string, args: string[], more: { uid?: number; gid?: number; in?: Namespace } = {}) {
    const { in: namespace, ...ids } = more;
    const launcher = writeLauncher({
      program,
      enter: namespace && ((asm, check) => enterNamespace(asm, check, namespace)),
    });
    writeFileSync(inFolder("launcher"), launcher, { mode: 0o755 });
    const { stdout, output, status } = spawnSync(inFolder("launcher"), args, {
      ...{ ...ids, argv0: "name", env: { A: "1" } },
      stdio: ["ignore", "pipe", "inherit", "pipe"],
    });
    const told = new Uint32Array(new Uint8Array(output[REPORTS] as unknown as Buffer).buffer);
    const reports = Array.from({ length: told.length / 2 }, (_, i) => [told[i * 2], told[i * 2 + 1]]);
    // Of the number of a process it is known that it is one.
    const known = reports.map(([what, value]) =>
      what === REPORT.started ? [what, value > 1] : [what, value],
    );
    return { stdout: stdout.toString(), reports: known, status };
  }
  const started = [REPORT.started, true];

  it("starts the program with its own arguments and environment, and tells how it has ended", () => {
    const { stdout, reports, status } = start("/bin/cat", ["/proc/self/environ", "/proc/self/cmdline"]);
    const words = ["name", "/proc/self/environ", "/proc/self/cmdline"];
    expect(stdout).toBe(`A=1\0${words.join("\0")}\0`);
    expect({ reports, status }).toEqual({ reports: [started, [REPORT.ended, 0]], status: 0 });
    expect(start("/bin/sh", ["-c", "exit 9"]).reports).toEqual([started, [REPORT.ended, 9 << 8]]);
  });

  it("tells of all signals by which the program ends, real-time ones too", () => {
    for (const signal of [15, 34, 37, 64])
      expect(start("/bin/sh", ["-c", `kill -${signal} $$`]).reports).toEqual([
        started,
        [REPORT.ended, signal],
      ]);
  });

  it("leaves the program neither its descriptor nor its mask of signals", () => {
    expect(start("/bin/sh", ["-c", "test -e /proc/$$/fd/3; echo $?"]).stdout).toBe("1\n");
    expect(start("/bin/grep", ["SigBlk", "/proc/self/status"]).stdout).toBe("SigBlk:\t0000000000000000\n");
  });

  it("tells what was not started, and why", () => {
    const { reports } = start(inFolder("one"), []);
    expect(reports.sort()).toEqual([started, [REPORT.ended, REFUSED << 8], [REPORT.execute, 13]]);
  });

  it.skipIf(!hasNamespaces)(
    "starts it where it finds files in the place of others, and nobody else does",
    () => {
      const mounts = [{ file: inFolder("other"), path: inFolder("one") }];
      const { stdout } = start("/bin/cat", [inFolder("one")], { in: { mounts, ids: undefined } });
      expect(stdout).toBe("other\n");
      expect(spawnSync("/bin/cat", [inFolder("one")], { encoding: "utf8" }).stdout).toBe("one\n");
      const writing = ["-c", `echo three > ${inFolder("one")} || cat ${inFolder("one")}`];
      expect(start("/bin/sh", writing, { in: { mounts, ids: undefined } }).stdout).toBe("other\n");
      const gone = { file: inFolder("other"), path: inFolder("gone") };
      const { reports } = start("/bin/cat", [], { in: { mounts: [...mounts, gone], ids: undefined } });
      expect(reports).toContainEqual([STEP.mount + 1, 2]);
    },
  );

  it.skipIf(!hasNamespaces || process.getuid?.() !== 0)(
    "serves users without rights, and the program gets none",
    () => {
      spawnSync("chmod", ["755", folder]);
      const [uid, gid] = [65534, 65534];
      const namespace = { mounts: [], ids: { user: uid, group: gid } };
      const { stdout } = start("/bin/cat", ["/proc/self/status"], { uid, gid, in: namespace });
      expect(stdout).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
      for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"])
        expect(stdout).toContain(`Cap${set}:\t0000000000000000`);
    },
  );
});
