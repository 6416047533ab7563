import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isProcess } from "../../../src/record/host/run/process-identity.ts";
import { MAIN } from "../../command.ts";
import { memshade, newFolder, readRun, startMemshade } from "../support/command-line.ts";
import { ALLOCATOR, EXIT_7, LIBRARY, manySites, SPIN, TRAP, writeProgram } from "../support/programs.ts";

function writeScript(cwd: string, end: string): void {
  writeProgram(cwd, "library.wasm", LIBRARY);
  writeFileSync(
    join(cwd, "main.cjs"),
    `const { readFileSync, writeSync } = require("node:fs");
     const compiled = new WebAssembly.Module(readFileSync("library.wasm"));
     const { exports: wasm } = new WebAssembly.Instance(compiled, { host: { notify() { writeSync(1, "busy\\n"); } } });
     wasm.fill(3);
     ${end}`,
  );
}

describe("a folder that --out names", () => {
  it("is one run's: what other tools wrote in an earlier one goes with it", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "seven.wasm", EXIT_7);
    writeProgram(cwd, "trap.wasm", TRAP);
    await memshade(["run", "--tool", "heap,waste,workingset", "--out", "here", "seven.wasm"], { cwd });
    expect(readdirSync(join(cwd, "here"))).toHaveLength(8);
    await memshade(["run", "--tool", "waste", "--out", "here", "trap.wasm"], { cwd });
    expect(readdirSync(join(cwd, "here")).sort()).toEqual(["measured.json", "run.json", "waste.json"]);
    expect(readdirSync(cwd).sort()).toEqual(["here", "seven.wasm", "trap.wasm"]);
    expect(statSync(join(cwd, "here")).mode & 0o777).toBe(0o700);
  });

  it.each(["run", "node"])(
    "is refused while memshade %s goes on in it, and taken over when that is killed",
    async (verb) => {
      const cwd = newFolder();
      writeProgram(cwd, "seven.wasm", EXIT_7);
      writeProgram(cwd, "spin.wasm", SPIN);
      writeScript(cwd, "wasm.spin();");
      const first = startMemshade([verb, "--out", "here", verb === "run" ? "spin.wasm" : "main.cjs"], {
        cwd,
      });
      await first.printed(verb === "run" ? "ready" : "busy");
      for (const other of [
        ["run", "--out", "here", "seven.wasm"],
        ["node", "--out", "here", "main.cjs"],
      ]) {
        const { code, stderr } = await memshade(other, { cwd });
        expect(code).toBe(2);
        expect(stderr).toMatch(
          /^memshade: \S*here: another run is writing to it \(process \d+\); wait for its end, or name another folder with --out\n$/,
        );
      }
      first.child.kill("SIGKILL");
      await first.ended;
      expect((await memshade(["run", "--out", "here", "seven.wasm"], { cwd })).code).toBe(7);
      expect(readdirSync(cwd).filter((name) => name.startsWith("."))).toEqual([]);
    },
  );

  it("is refused if it holds something else", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "seven.wasm", EXIT_7);
    mkdirSync(join(cwd, "here"));
    writeFileSync(join(cwd, "here", "notes.txt"), "mine");
    const { code, stderr } = await memshade(["run", "--out", "here", "seven.wasm"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        "memshade: here has other files than a finished run (notes.txt); name another folder with --out, or remove them\n",
    });
    expect(readdirSync(join(cwd, "here"))).toEqual(["notes.txt"]);
  });
});

describe("a profile that cannot be written", () => {
  const SITES = 400;

  it.skipIf(process.platform === "win32")(
    "makes the exit code 74, whatever the program's own is",
    async () => {
      const cwd = newFolder();
      writeProgram(cwd, "sites.wasm", manySites(SITES));
      writeProgram(
        cwd,
        "sites7.wasm",
        manySites(SITES).replace(/\)\)$/, "(call $proc_exit (i32.const 7))))"),
      );
      writeScript(cwd, "wasm.sites(); process.exitCode = 3;");
      writeProgram(
        cwd,
        "library.wasm",
        LIBRARY.replace(
          '(func (export "spin")',
          `(func (export "sites") ${"(call $free (call $malloc (i32.const 32)))".repeat(SITES)}) (func (export "spin")`,
        ),
      );
      // The shell's limit is in blocks of half a KiB or one KiB.
      const limited = (args: string) =>
        spawnSync("sh", ["-c", `ulimit -f 16; exec "${process.execPath}" "${MAIN}" ${args}`], {
          cwd,
          encoding: "utf8",
          env: { ...process.env, NODE_COMPILE_CACHE: "", NODE_DISABLE_COMPILE_CACHE: "1" },
        });
      for (const args of [
        "run --out out sites.wasm",
        "run --out out sites7.wasm",
        "node --out out main.cjs",
      ]) {
        const { status, stderr } = limited(args);
        expect({ status, stderr }).toEqual({
          status: 74,
          stderr: "memshade: cannot write the profile to out: a file may not become so large\n",
        });
        expect(readdirSync(cwd).sort()).toEqual(["library.wasm", "main.cjs", "sites.wasm", "sites7.wasm"]);
      }
    },
  );

  const mounted: string[] = [];
  afterAll(() => {
    for (const folder of mounted) spawnSync("umount", ["-l", folder]);
  });

  it("leaves the earlier one on a full disk", async (context) => {
    const cwd = newFolder();
    const disk = join(cwd, "disk");
    mkdirSync(disk);
    const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=128k", "tmpfs", disk]);
    if (status !== 0) context.skip("mounting a small file system needs root");
    mounted.push(disk);
    writeProgram(cwd, "seven.wasm", EXIT_7);
    writeProgram(cwd, "sites.wasm", manySites(3000));
    expect((await memshade(["run", "--out", "disk/here", "seven.wasm"], { cwd })).code).toBe(7);
    const { code, stderr } = await memshade(["run", "--out", "disk/here", "sites.wasm"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 74,
      stderr: "memshade: cannot write the profile to disk/here: no space left\n",
    });
    expect(readRun(join(disk, "here")).program).toBe("seven");
    expect(readdirSync(disk)).toEqual(["here"]);
  });

  it("and what was learned cannot be either is said beforehand", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "seven.wasm", EXIT_7);
    const args = ["run", "--out", "here", "--tool", "waste", "--learn", "nowhere/learned", "seven.wasm"];
    const { code, stderr } = await memshade(args, { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^memshade: --learn: cannot write \S+nowhere\/learned: no such file or folder\n$/);
    expect(existsSync(join(cwd, "here"))).toBe(false);
  });
});

describe("a second signal while a profile is written", () => {
  /** Seven calls at each of six levels: so many contexts take time to write. */
  const LEVELS = 6;
  const tree = Array.from(
    { length: LEVELS + 1 },
    (_, level) =>
      `(func $level${level} ${level === 0 ? "(call $free (call $malloc (i32.const 32)))" : `(call $level${level - 1})`.repeat(7)})`,
  );
  const program = `(module (import "host" "notify" (func $notify (param i32))) (memory (export "memory") 100) ${ALLOCATOR}
    ${tree.join("")} (func (export "spin") (call $level${LEVELS}) (call $notify (i32.const 0)) (loop $for_good (br $for_good)))
    (func (export "fill") (param i32)))`;

  it("ends it, removes what was written, and says so", async () => {
    const cwd = newFolder();
    writeScript(cwd, "wasm.spin();");
    writeProgram(cwd, "library.wasm", program);
    const started = startMemshade(["node", "--max-contexts", "200000", "--out", "here", "main.cjs"], { cwd });
    await started.printed("busy");
    // One signal begins the writing; another arrives in the middle of it.
    const again = setInterval(() => started.child.kill("SIGTERM"), 600);
    const { signal, stderr } = await started.ended;
    clearInterval(again);
    expect(signal).toBe("SIGTERM");
    expect(stderr).toBe(
      "memshade: interrupted: the profile was not written to here, and its incomplete files were removed\n",
    );
    expect(readdirSync(cwd).sort()).toEqual(["library.wasm", "main.cjs"]);
  });
});

describe("a process that memshade node has started", () => {
  it.each([
    ["inside WebAssembly", "wasm.spin();"],
    ["in JavaScript", 'writeSync(1, "busy\\n"); for (;;);'],
    ["waiting", 'writeSync(1, "busy\\n"); setInterval(() => {}, 1000);'],
  ])("ends when memshade is killed, and saves its profile: %s", async (_where, end) => {
    const cwd = newFolder();
    writeScript(cwd, `writeSync(1, "pid " + process.pid + "\\n"); ${end}`);
    const started = startMemshade(["node", "--out", "here", "main.cjs"], { cwd });
    await started.printed("busy");
    const pid = Number(/pid (\d+)/.exec(started.stdout)![1]);
    started.child.kill("SIGKILL");
    // The streams close when both processes have ended.
    const { stderr } = await started.ended;
    // An ended process keeps its number until its adopter has reaped it.
    while (isProcess(pid)) await new Promise((done) => setTimeout(done, 10));
    expect(stderr).toBe("memshade: profile written to here; see it with: memshade report here\n");
    expect(readRun(join(cwd, "here")).end).toEqual({ kind: "signal", signal: "SIGKILL" });
    expect(readdirSync(cwd).sort()).toEqual(["here", "library.wasm", "main.cjs"]);
  });

  it("ends without WebAssembly, too", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "main.cjs"), 'require("node:fs").writeSync(1, "busy\\n"); for (;;);');
    const started = startMemshade(["node", "main.cjs"], { cwd });
    await started.printed("busy");
    started.child.kill("SIGKILL");
    expect((await started.ended).stderr).toBe("");
  });

  it("goes on if memshade ends as usual: what the program left behind is its own affair", async () => {
    const cwd = newFolder();
    writeScript(
      cwd,
      `require("node:child_process").spawn(process.execPath, ["later.cjs"], { detached: true, stdio: "ignore" }).unref();`,
    );
    writeFileSync(
      join(cwd, "later.cjs"),
      `const { writeFileSync, existsSync } = require("node:fs");
       writeFileSync("started", "");
       const timer = setInterval(() => { if (existsSync("go")) { writeFileSync("ended", ""); clearInterval(timer); } }, 20);`,
    );
    await memshade(["node", "--trace-children", "--out", "here", "main.cjs"], { cwd });
    while (!existsSync(join(cwd, "started"))) await new Promise((done) => setTimeout(done, 20));
    await new Promise((done) => setTimeout(done, 300));
    writeFileSync(join(cwd, "go"), "");
    while (!existsSync(join(cwd, "ended"))) await new Promise((done) => setTimeout(done, 20));
  });

  it("that is killed itself leaves a word", async () => {
    const cwd = newFolder();
    writeScript(cwd, 'writeSync(1, "pid " + process.pid + "\\n"); wasm.spin();');
    const started = startMemshade(["node", "--out", "here", "main.cjs"], { cwd });
    await started.printed("busy");
    process.kill(Number(/pid (\d+)/.exec(started.stdout)![1]), "SIGKILL");
    const { signal, stderr } = await started.ended;
    expect(signal).toBe("SIGKILL");
    expect(stderr).toBe(
      "memshade: the program was ended by SIGKILL before its profile was written: nothing is saved\n",
    );
    expect(readdirSync(cwd).sort()).toEqual(["library.wasm", "main.cjs"]);
  });
});
