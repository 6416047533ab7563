import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, onlyRun, readRun, runFolders, startMemshade } from "./support/command-line.ts";
import { LIBRARY, writeProgram } from "./support/programs.ts";

function withScripts(scripts: Record<string, string>): string {
  const cwd = newFolder();
  writeProgram(cwd, "library.wasm", LIBRARY);
  for (const [name, text] of Object.entries(scripts)) writeFileSync(join(cwd, name), text);
  return cwd;
}

const START = `
  const { readFileSync } = require("node:fs");
  const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
  const make = () => new WebAssembly.Instance(new WebAssembly.Module(readFileSync("library.wasm")), { host: { notify() {} } }).exports;
`;

const NOT_RECORDED =
  "memshade: the program started other processes, which were not recorded: --trace-children records the Node processes\n";

describe("worker threads under memshade node", () => {
  it.each([
    ["started plainly", "new Worker('./worker.cjs')"],
    [
      "with options of their own for Node",
      "new Worker('./worker.cjs', { execArgv: ['--no-warnings'], env: {} })",
    ],
    ["from source text", "new Worker(require('node:fs').readFileSync('worker.cjs', 'utf8'), { eval: true })"],
  ])("%s belong to the process's run", async (_how, create) => {
    const cwd = withScripts({
      "main.cjs": `${START} make().fill(1); ${create}.on("exit", (code) => console.log("worker ended", code));`,
      "worker.cjs": `${START} console.log(make().fill(4), process.execArgv.join());`,
    });
    const { stdout, code } = await memshade(["node", "main.cjs"], { cwd });
    const options = create.includes("execArgv") ? "--no-warnings" : "";
    expect({ stdout, code }).toEqual({ stdout: `4240 ${options}\nworker ended 0\n`, code: 0 });
    const run = onlyRun(cwd);
    expect(run.modules).toMatchObject([{ name: "library.wasm", instances: 2 }]);
    expect(run.heap?.allocations).toBe(5);
  });

  it("that use WebAssembly while the main thread does not", async () => {
    const cwd = withScripts({
      "main.mjs": `import { Worker } from "node:worker_threads"; new Worker("./worker.cjs");`,
      "worker.cjs": `${START} make().fill(2);`,
    });
    await memshade(["node", "main.mjs"], { cwd });
    expect(onlyRun(cwd).heap?.allocations).toBe(2);
  });

  it("lose nothing when they are terminated in the middle", async () => {
    const cwd = withScripts({
      "main.cjs": `${START}
        const worker = new Worker("./worker.cjs");
        worker.once("message", async () => { await worker.terminate(); console.log("terminated"); });`,
      "worker.cjs": `${START}
        const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync("library.wasm")),
          { host: { notify() { parentPort.postMessage("busy"); } } });
        wasm.fill(3); wasm.spin();`,
    });
    const { stdout, code } = await memshade(["node", "main.cjs"], { cwd });
    expect({ stdout, code }).toEqual({ stdout: "terminated\n", code: 0 });
    expect(onlyRun(cwd).heap).toMatchObject({ allocations: 4, allocatedBytes: 3 * 24 + 40 });
  });

  it("are recorded while they are busy when the process exits", async () => {
    const cwd = withScripts({
      "main.cjs": `${START} new Worker("./worker.cjs").once("message", () => process.exit(4));`,
      "worker.cjs": `${START}
        const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync("library.wasm")),
          { host: { notify() { parentPort.postMessage("busy"); } } });
        wasm.spin();`,
    });
    expect((await memshade(["node", "main.cjs"], { cwd })).code).toBe(4);
    expect(onlyRun(cwd).heap?.allocations).toBe(1);
  });

  it("get compiled modules from each other", async () => {
    const cwd = withScripts({
      "main.cjs": `${START}
        const compiled = new WebAssembly.Module(readFileSync("library.wasm"));
        new Worker("./worker.cjs", { workerData: compiled }).on("message", (other) => {
          console.log(new WebAssembly.Instance(other, { host: { notify() {} } }).exports.fill(1), other instanceof WebAssembly.Module);
        });`,
      "worker.cjs": `${START}
        const { exports: wasm } = new WebAssembly.Instance(workerData, { host: { notify() {} } });
        console.log(wasm.fill(2), Object.keys(wasm).join(), WebAssembly.Module.customSections(workerData, "memshade").length);
        parentPort.postMessage(workerData);`,
    });
    const { stdout } = await memshade(["node", "main.cjs"], { cwd });
    // Output of a worker and of the main thread may be in any order.
    expect(stdout.split("\n").sort()).toEqual([
      "",
      "4096 true",
      "4144 memory,malloc,free,fill,spin,trap,answer 0",
    ]);
    const run = onlyRun(cwd);
    expect(run.modules).toMatchObject([{ name: "library.wasm", instances: 2 }]);
    expect(run.modules[0].functions.map(({ name }) => name)).toContain("fill");
  });

  it("start workers themselves", async () => {
    const cwd = withScripts({
      "main.cjs": `${START} if (isMainThread) new Worker("./middle.cjs");`,
      "middle.cjs": `${START} make().fill(1); new Worker("./worker.cjs");`,
      "worker.cjs": `${START} make().fill(2);`,
    });
    await memshade(["node", "main.cjs"], { cwd });
    expect(onlyRun(cwd)).toMatchObject({ modules: [{ instances: 2 }], heap: { allocations: 3 } });
  });
});

describe("instances that the program drops", () => {
  it("stay in the profile and leave the memory", async () => {
    const cwd = withScripts({
      "main.cjs": `${START}
        const compiled = new WebAssembly.Module(readFileSync("library.wasm"));
        const sleep = () => new Promise((done) => setTimeout(done, 20));
        (async () => {
          for (let i = 0; i < 60; i++) {
            new WebAssembly.Instance(compiled, { host: { notify() {} } }).exports.fill(10);
            if (i % 10 === 9) { gc(); await sleep(); }
          }
          gc(); await sleep(); await sleep();
        })();`,
    });
    const { code } = await memshade(["node", "--node-arg=--expose-gc", "main.cjs"], { cwd });
    expect(code).toBe(0);
    const run = onlyRun(cwd);
    expect(run.modules[0].instances).toBe(60);
    expect(run.heap?.allocations).toBe(600);
  });

  it("are not dropped while one of their functions is still in use", async () => {
    const cwd = withScripts({
      "main.cjs": `${START}
        let { fill } = make();
        setTimeout(() => { gc(); setTimeout(() => { gc(); setTimeout(() => fill(5), 20); }, 20); }, 20);`,
    });
    await memshade(["node", "--node-arg=--expose-gc", "main.cjs"], { cwd });
    expect(onlyRun(cwd).heap?.allocations).toBe(5);
  });
});

describe("child processes of a program under memshade node", () => {
  const scripts = {
    "main.cjs": `${START}
      const { fork, execFileSync } = require("node:child_process");
      make().fill(1);
      console.log(execFileSync(process.execPath, ["child.cjs"], { encoding: "utf8" }).trim());
      fork("./child.cjs", ["forked"]).on("exit", (code) => console.log("ended", code));`,
    "child.cjs": `${START} make().fill(process.argv.length); console.log(process.execArgv.length); process.exitCode = 3`,
  };
  // A failing child makes execFileSync throw; this child only returns its code to fork().
  const quiet = {
    ...scripts,
    "main.cjs": scripts["main.cjs"].replace('["child.cjs"]', '["-e", "console.log(0)"]'),
  };

  it("are left alone by default", async () => {
    const cwd = withScripts(quiet);
    const { stdout, stderr } = await memshade(["node", "main.cjs"], { cwd });
    expect(stdout).toBe("0\n0\nended 3\n");
    expect(stderr).toContain(NOT_RECORDED);
    expect(runFolders(cwd)).toHaveLength(1);
    expect(onlyRun(cwd).heap?.allocations).toBe(1);
  });

  it.each([
    ["spawn", 'require("node:child_process").spawn(process.execPath, ["-e", "0"])'],
    ["exec", 'require("node:child_process").exec("true")'],
    ["execFileSync", 'require("node:child_process").execFileSync(process.execPath, ["-e", "0"])'],
    [
      "spawnSync of an ES module",
      'import("node:child_process").then((it) => it.spawnSync(process.execPath, ["-e", "0"]))',
    ],
    [
      "spawn of a worker thread",
      `new (require("node:worker_threads").Worker)('require("node:child_process").spawn("true")', { eval: true })`,
    ],
  ])("are named where there were some and no module: %s", async (_, text) => {
    const cwd = withScripts({ "main.cjs": text, "alone.cjs": "1" });
    const { stderr } = await memshade(["node", "main.cjs"], { cwd });
    expect(stderr).toBe(
      `memshade: no WebAssembly module was instantiated; nothing was written\n${NOT_RECORDED}`,
    );
    const alone = await memshade(["node", "alone.cjs"], { cwd });
    expect(alone.stderr).not.toContain(NOT_RECORDED);
  });

  it("are recorded with --trace-children, each in a folder of its own", async () => {
    const cwd = withScripts(quiet);
    const { stdout, stderr } = await memshade(["node", "--trace-children", "main.cjs"], { cwd });
    expect(stdout).toBe("0\n0\nended 3\n");
    expect(stderr).not.toContain(NOT_RECORDED);
    const names = runFolders(cwd);
    expect(names.map((name) => name.split(".")[0])).toEqual(["child", "main"]);
    const [child, main] = names.map((name) => readRun(join(cwd, "memshade.out", name)));
    expect(child).toMatchObject({ end: { exitCode: 3 }, heap: { allocations: 3 } });
    expect(child.command).toEqual([join(cwd, "child.cjs"), "forked"]);
    expect(main).toMatchObject({ command: ["main.cjs"], heap: { allocations: 1 } });
  });

  it("do not write over each other when --out names one folder", async () => {
    const cwd = withScripts(quiet);
    await memshade(["node", "--trace-children", "--out", "here", "main.cjs"], { cwd });
    expect(readRun(join(cwd, "here")).program).toBe("main");
  });

  it("end when their parent kills them, even if they are busy", async () => {
    const cwd = withScripts({
      "main.cjs": `const { spawn } = require("node:child_process");
        const child = spawn(process.execPath, ["busy.cjs"], { stdio: ["ignore", "pipe", "inherit"] });
        child.stdout.once("data", () => child.kill());
        child.on("exit", (code, signal) => console.log("child ended", code === null));`,
      "busy.cjs": `${START}
        new WebAssembly.Instance(new WebAssembly.Module(readFileSync("library.wasm")),
          { host: { notify() { require("node:fs").writeSync(1, "busy"); } } }).exports.spin();`,
    });
    const program = startMemshade(["node", "--trace-children", "main.cjs"], { cwd });
    expect((await program.ended).stdout).toBe("child ended true\n");
    expect(onlyRun(cwd)).toMatchObject({ program: "busy", end: { kind: "signal", signal: "SIGTERM" } });
  });
});
