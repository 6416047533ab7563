import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Site } from "../../../../src/record/native/layout.ts";
import { MAIN } from "../../../command.ts";
import { contextsIn } from "../support/compare-runs.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "../support/record.ts";

const SHARED_MEMORY = "/dev/shm";
const hasNamespaces = spawnSync("unshare", ["--mount", "true"]).status === 0;
const hasCpp = spawnSync("g++", ["--version"], { stdio: "ignore" }).status === 0;
if (canCompile && !hasNamespaces)
  console.warn("SKIPPED: there are no mount namespaces here: no rewritten program is started");

describe.skipIf(!canCompile || !hasNamespaces)("a program that is rewritten", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-rewritten-"));
  const inFolder = (name: string): string => join(folder, name);
  const mounts = (): string => readFileSync("/proc/self/mountinfo", "utf8");
  const mountsBefore = mounts();
  const plain = (program: string, args: string[] = []) =>
    spawnSync(program, args, { encoding: "utf8", cwd: folder });
  /** Runs without a reader of the accesses: only outputs and call paths are compared. */
  const rewritten = (args: string[], more: NodeJS.ProcessEnv = {}) => {
    const ended = memshadeRun(folder, ["--quiet", "--tool", "heap", ...args], more);
    recorders.push(ended.pid);
    return ended;
  };
  const recorders: number[] = [];
  const ownerOf = (name: string): number => {
    try {
      return JSON.parse(readFileSync(join(SHARED_MEMORY, name, "owner"), "utf8")).pid;
    } catch {
      // The folder belongs to another process, which has removed it meanwhile.
      return 0;
    }
  };

  beforeAll(() => {
    compileProgram("../rewritten/programs/many-ways.c", inFolder("many-ways"), ["-pthread"]);
    compileProgram("several.c", inFolder("several"), ["-fno-inline", "-pthread"]);
    // The first run rewrites the C library.
    rewritten(["--out", inFolder("first"), inFolder("several")]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("does what it does alone, as its children and threads do, and sees nothing of it", () => {
    const { status, stdout, stderr } = rewritten(["--out", inFolder("ways"), inFolder("many-ways")]);
    const alone = plain(inFolder("many-ways"));
    expect({ status, stdout, stderr }).toEqual({ status: 9, stdout: alone.stdout, stderr: alone.stderr });
  });

  it("has the calling contexts of a plain run, each with as many allocations", () => {
    memshadeRun(folder, ["--quiet", "--out", inFolder("hooks"), inFolder("several")]);
    rewritten(["--out", inFolder("inserted"), inFolder("several")]);
    const contexts = contextsIn(inFolder("inserted"));
    expect(contexts).toEqual(contextsIn(inFolder("hooks")));
    expect(contexts.size).toBeGreaterThan(4);
    expect([...contexts.keys()].join()).not.toContain("nowhere");
  });

  it.skipIf(!hasCpp)("has its exceptions, destructors, computed jumps and jumps out of signals", () => {
    const source = fileURLToPath(new URL("../programs/control-flow.cpp", import.meta.url));
    spawnSync("g++", ["-O2", "-pthread", source, "-o", inFolder("control-flow")], { stdio: "inherit" });
    const { status, stdout, stderr } = rewritten(["--out", inFolder("flow"), inFolder("control-flow")]);
    const alone = plain(inFolder("control-flow"));
    expect({ status, stdout, stderr }).toEqual({
      status: alone.status,
      stdout: alone.stdout,
      stderr: alone.stderr,
    });
  });

  it("has runs of its children, whose paths lead through rewritten libraries", () => {
    compileProgram("family.c", inFolder("family"));
    const { status } = rewritten(["--trace-children", "--out", inFolder("traced"), inFolder("family")]);
    expect(status).toBe(3);
    const runs = readdirSync(folder).filter((name) => name.startsWith("traced."));
    expect(runs).toHaveLength(7);
    for (const name of runs)
      expect([...contextsIn(inFolder(name)).keys()].filter((path) => path.includes("nowhere"))).toEqual([]);
  });

  it("has samples of its call paths, with places of the original", () => {
    compileProgram("sampled.c", inFolder("sampled"), ["-pthread"]);
    const { status, stderr } = rewritten([
      "--sample",
      "97hz",
      "--out",
      inFolder("samples"),
      inFolder("sampled"),
    ]);
    expect(stderr).toBe("");
    expect(status).toBe(plain(inFolder("sampled")).status);
    const { stacks } = JSON.parse(readFileSync(inFolder("samples/cpu.json"), "utf8"));
    const known = runIn(inFolder("samples")).modules ?? [];
    const isKnown = (site: number): boolean =>
      known.some(({ start, codeBytes }) => site >= Number(start) && site < Number(start) + codeBytes);
    const sites = (stacks.site as number[]).filter((site) => site >= Site.first);
    expect(sites.filter((site) => !isKnown(site))).toEqual([]);
  });

  it("ends by the signal that ends it", () => {
    const { signal } = rewritten(["--out", inFolder("killed"), "/bin/sh", "-c", "kill -TERM $$"]);
    expect(signal).toBe("SIGTERM");
  });

  it("loads a library later as it is, says so, and has it rewritten the next time", () => {
    compileProgram("late.c", inFolder("late"));
    compileProgram("late-library.c", inFolder("late-library.so"), [
      "-fno-optimize-sibling-calls",
      "-shared",
      "-fPIC",
    ]);
    const run = (out: string) =>
      spawnSync(
        process.execPath,
        [
          MAIN,
          "run",
          "--tool",
          "heap",
          "--out",
          inFolder(out),
          inFolder("late"),
          inFolder("late-library.so"),
        ],
        { encoding: "utf8", input: "\n" },
      );
    const first = run("late-1");
    expect(first).toMatchObject({ status: 0, stdout: "ready\n" });
    expect(first.stderr).toContain(
      "accesses are not counted in 1 file that was loaded later (dlopen); the next run counts it",
    );
    expect(runIn(inFolder("late-1")).heap!.notTracked!.join()).toContain("late-library.so");
    const second = run("late-2");
    expect(second).toMatchObject({ status: 0, stdout: "ready\n" });
    expect(second.stderr).not.toContain("loaded later");
    expect(contextsIn(inFolder("late-2"))).toEqual(contextsIn(inFolder("late-1")));
  });

  it("does not call unused what only a library uses that ran as it is", () => {
    compileProgram("../rewritten/programs/plugin-user.c", inFolder("plugin-user"));
    compileProgram("../rewritten/programs/plugin.c", inFolder("plugin.so"), ["-shared", "-fPIC"]);
    const command = [inFolder("plugin-user"), inFolder("plugin.so")];
    for (const out of ["met", "known"].map(inFolder)) {
      expect(rewritten(["--out", out, ...command]).status).toBe(0);
      const objects = runIn(out).modules.filter(({ object }) => object?.isUncounted === true);
      expect(objects.some(({ name }) => name === "plugin.so")).toBe(out.endsWith("met"));
      const { stdout } = spawnSync(process.execPath, [MAIN, "report", out], { encoding: "utf8" });
      expect(stdout).toMatch(/unused +97\.7 KiB +50 blocks of main \(plugin-user\.c:\d+\) are never used/);
      expect(stdout).not.toMatch(/unused.*plugin\.c/);
    }
  });

  it("is the interpreter of a script", () => {
    writeFileSync(inFolder("script"), "#!/bin/sh\necho from $0 $1\n", { mode: 0o755 });
    const { stdout, status } = rewritten(["--out", inFolder("scripted"), inFolder("script"), "x"]);
    expect({ stdout, status }).toEqual({ stdout: `from ${inFolder("script")} x\n`, status: 0 });
  });

  it("is written anew where what was kept is damaged, and by two at once", async () => {
    const env = { ...process.env, XDG_CACHE_HOME: folder };
    rewritten(["--out", inFolder("kept"), inFolder("several")], env);
    const kept = inFolder("memshade/native/rewritten");
    for (const name of readdirSync(kept)) truncateSync(join(kept, name, "file"), 5000);
    const start = (out: string) =>
      spawn(
        process.execPath,
        [MAIN, "run", "--quiet", "--tool", "heap", "--out", inFolder(out), inFolder("several")],
        { stdio: "ignore", env },
      );
    const ends = await Promise.all(["both-1", "both-2"].map((out) => once(start(out), "exit")));
    expect(ends.map(([code]) => code)).toEqual([7, 7]);
    expect(contextsIn(inFolder("both-1"))).toEqual(contextsIn(inFolder("both-2")));
    expect(readdirSync(kept).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("is refused in a line where the system lets it have no addresses, or its file is none to run", () => {
    const limited = spawnSync(
      "sh",
      [
        "-c",
        `ulimit -v 100000000; exec "$@"`,
        "sh",
        process.execPath,
        MAIN,
        "run",
        "--tool",
        "heap",
        inFolder("several"),
      ],
      { encoding: "utf8" },
    );
    // Under this limit Node itself does not start.
    expect(limited.status).not.toBe(0);
    const two = rewritten(["--tool", "waste", inFolder("several")]);
    expect(two).toMatchObject({ status: 2, stderr: expect.stringContaining("one tool at a time") });
  });

  it("leaves no mounts, and no files", () => {
    expect(mounts()).toBe(mountsBefore);
    const left = readdirSync(SHARED_MEMORY).filter((name) => name.startsWith("memshade-native-"));
    expect(left.filter((name) => recorders.includes(ownerOf(name)))).toEqual([]);
  });
});
