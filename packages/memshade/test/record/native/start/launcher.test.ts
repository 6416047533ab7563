import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { RAX } from "../../../../src/code/x64/index.ts";
import {
  enterNamespace,
  type Namespace,
  STEP,
} from "../../../../src/record/native/rewritten/enter-namespace.ts";
import { type Launch, REFUSED, REPORT, writeLauncher } from "../../../../src/record/native/start/launcher.ts";

const isLinux = process.platform === "linux" && process.arch === "x64";
const hasNamespaces = isLinux && spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!hasNamespaces) console.warn("SKIPPED: there are no mount namespaces here: no launcher makes one");

describe.skipIf(!isLinux)("a launcher", () => {
  // Other users can read this folder.
  const folder = mkdtempSync("/tmp/memshade-launcher-");
  const inFolder = (name: string): string => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(inFolder("one"), "one\n");
  writeFileSync(inFolder("other"), "other\n");

  const REPORTS = 3;

  function start(
    program: string,
    args: string[],
    more: { uid?: number; gid?: number; in?: Namespace } & Partial<Launch> = {},
  ) {
    const { in: namespace, uid, gid, ...others } = more;
    const launcher = writeLauncher({
      program,
      reports: REPORTS,
      argv: ["name", ...args].map((text) => Buffer.from(text)),
      environment: [Buffer.from("A=1")],
      ...others,
      ...(namespace && { enter: (asm, check) => enterNamespace(asm, check, namespace) }),
    });
    writeFileSync(inFolder("launcher"), launcher, { mode: 0o755 });
    const { stdout, output, status } = spawnSync(inFolder("launcher"), [], {
      ...(uid === undefined ? {} : { uid, gid }),
      env: {},
      stdio: ["ignore", "pipe", "inherit", "pipe"],
    });
    const told = new Uint32Array(new Uint8Array(output[REPORTS] as unknown as Buffer).buffer);
    const reports = Array.from({ length: told.length / 2 }, (_, i) => [told[i * 2], told[i * 2 + 1]]);
    // Process numbers vary, so only their validity is compared.
    const known = reports.map(([what, value]) =>
      what === REPORT.started ? [what, value > 1] : [what, value],
    );
    return { stdout: stdout.toString(), reports: known, status };
  }
  const started = [REPORT.started, true];

  it("starts the program with its own arguments and environment, and reports how it ended", () => {
    const { stdout, reports, status } = start("/bin/cat", ["/proc/self/environ", "/proc/self/cmdline"]);
    const words = ["name", "/proc/self/environ", "/proc/self/cmdline"];
    expect(stdout).toBe(`A=1\0${words.join("\0")}\0`);
    expect({ reports, status }).toEqual({ reports: [started, [REPORT.ended, 0]], status: 0 });
    expect(start("/bin/sh", ["-c", "exit 9"]).reports).toEqual([started, [REPORT.ended, 9 << 8]]);
  });

  it("starts the program without the first step if that fails, and reports the reason", () => {
    const enter: Launch["enter"] = (asm, check) => {
      asm.put("mov", 8, RAX, -13);
      check(STEP.unshare);
    };
    const { stdout, reports } = start("/bin/cat", ["another", "way"], { enter, otherwise: "/bin/echo" });
    expect(stdout).toBe("another way\n");
    expect(reports).toEqual(expect.arrayContaining([started, [STEP.unshare, 13], [REPORT.ended, 0]]));
    expect(start("/bin/cat", [], { enter }).reports).toEqual(
      expect.arrayContaining([
        [STEP.unshare, 13],
        [REPORT.ended, REFUSED << 8],
      ]),
    );
  });

  it("reports every signal that ends the program, real-time signals included", () => {
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

  it("gives the program the mask, the ignored signals and the limit that were inherited, and no stream that was closed", () => {
    const inherited = {
      pid: process.pid,
      blocked: 1n << 11n,
      ignored: (1n << 0n) | (1n << 33n),
      openFiles: 77,
      descriptors: new Map([
        [1, 1],
        [2, 1],
      ]),
    };
    const { stdout } = start("/bin/grep", ["-E", "^Sig(Blk|Ign)", "/proc/self/status"], { inherited });
    expect(stdout).toBe("SigBlk:\t0000000000000800\nSigIgn:\t0000000200000001\n");
    const script = "ulimit -Sn; test -e /proc/$$/fd/0; echo $?";
    expect(start("/bin/sh", ["-c", script], { inherited }).stdout).toBe("77\n1\n");
  });

  it("gives the program bytes that are no text, and sockets that were meant for the process before it", () => {
    const bytes = Buffer.from([0x41, 0x3d, 0xff, 0xe9]);
    const environment = [
      bytes,
      ...[`LISTEN_PID=${process.pid}`, "LISTEN_FDS=1", "LISTEN_PIDFDID=9"].map((text) => Buffer.from(text)),
    ];
    const inherited = {
      pid: process.pid,
      blocked: 0n,
      ignored: 0n,
      openFiles: undefined,
      descriptors: new Map([0, 1, 2].map((stream) => [stream, undefined])),
    };
    const argv = [
      Buffer.from("name"),
      Buffer.from("-c"),
      Buffer.from("echo $$ $LISTEN_PID $LISTEN_FDS $LISTEN_PIDFDID; cat /proc/$$/environ"),
    ];
    const { stdout } = start("/bin/sh", [], { argv, environment, inherited });
    const [numbers, rest] = stdout.split("\n");
    const [own, ...meant] = numbers.split(" ");
    expect([meant, Number(own) > 1]).toEqual([[own, "1"], true]);
    expect(rest).toBe(Buffer.concat([bytes, Buffer.from(`\0LISTEN_PID=${own}\0LISTEN_FDS=1\0`)]).toString());
  });

  it("names a program that could not be started, and the reason", () => {
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
