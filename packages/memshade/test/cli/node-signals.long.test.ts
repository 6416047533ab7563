import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gapsOf } from "../../src/explain/measures/gaps.ts";
import { loadHeap } from "../../src/runs/heap.ts";
import {
  newFolder,
  onlyRun,
  readRun,
  runFolders,
  type Started,
  startMemshade,
} from "./support/command-line.ts";
import { ALLOCATOR, LIBRARY, writeProgram } from "./support/programs.ts";

/** Starts a script that has `exports` of the library; `notify` prints "busy". */
function start(script: string): { cwd: string; program: Started } {
  const cwd = newFolder();
  writeProgram(cwd, "library.wasm", LIBRARY);
  writeFileSync(
    join(cwd, "main.cjs"),
    `const { readFileSync, writeSync } = require("node:fs");
    const imports = { host: { notify() { writeSync(1, "busy\\n"); } } };
    const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync("library.wasm")), imports);
    wasm.fill(3);
    ${script}`,
  );
  return { cwd, program: startMemshade(["node", "main.cjs"], { cwd }) };
}

const SERVE = 'setInterval(() => {}, 1000); console.log("serving");';

describe.each(["SIGINT", "SIGTERM"] as const)("%s to memshade node", (signal) => {
  it("ends a program that is busy inside WebAssembly", async () => {
    const { cwd, program } = start("wasm.spin();");
    await program.printed("busy");
    program.child.kill(signal);
    const { signal: diedBy, stderr } = await program.ended;
    expect(diedBy).toBe(signal);
    expect(stderr).toMatch(/^memshade: profile written to .*\n/);
    expect(onlyRun(cwd)).toMatchObject({ end: { kind: "signal", signal }, heap: { allocations: 4 } });
  });

  it("ends a program that waits", async () => {
    const { cwd, program } = start(SERVE);
    await program.printed("serving");
    program.child.kill(signal);
    expect((await program.ended).signal).toBe(signal);
    expect(onlyRun(cwd)).toMatchObject({ end: { kind: "signal", signal }, heap: { allocations: 3 } });
  });

  it("is the program's own business when it listens: exactly one delivery", async () => {
    const { cwd, program } = start(
      `process.on("${signal}", (name, number) => {
        console.log("heard", name, number, process.listenerCount("${signal}"));
        wasm.fill(2);
        setTimeout(() => process.exit(11), 600);
      });
      ${SERVE}`,
    );
    await program.printed("serving");
    program.child.kill(signal);
    const { code, stdout } = await program.ended;
    expect(code).toBe(11);
    expect(stdout).toBe(`serving\nheard ${signal} ${signal === "SIGINT" ? 2 : 15} 1\n`);
    expect(onlyRun(cwd)).toMatchObject({ end: { kind: "exit", exitCode: 11 }, heap: { allocations: 5 } });
  });
});

describe("signals", () => {
  it("reach a program that stopped listening as if it never had", async () => {
    const { cwd, program } = start(`process.once("SIGTERM", () => console.log("once")); ${SERVE}`);
    await program.printed("serving");
    program.child.kill("SIGTERM");
    await program.printed("once");
    program.child.kill("SIGTERM");
    expect((await program.ended).signal).toBe("SIGTERM");
    expect(onlyRun(cwd).end).toEqual({ kind: "signal", signal: "SIGTERM" });
  });

  it("end a program that has not used WebAssembly", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "main.cjs"), SERVE);
    const program = startMemshade(["node", "main.cjs"], { cwd });
    await program.printed("serving");
    program.child.kill("SIGTERM");
    const { signal, stderr } = await program.ended;
    expect(signal).toBe("SIGTERM");
    expect(stderr).toBe("memshade: no WebAssembly module was instantiated; nothing was written\n");
  });

  it("sent to the program itself end it too", async () => {
    const { cwd, program } = start(`console.log("pid", process.pid, "."); ${SERVE}`);
    await program.printed("serving");
    process.kill(Number(/pid (\d+)/.exec(program.stdout)![1]), "SIGTERM");
    expect((await program.ended).signal).toBe("SIGTERM");
    expect(onlyRun(cwd).end).toEqual({ kind: "signal", signal: "SIGTERM" });
  });

  it("SIGUSR2 writes dumps of a busy program and of a waiting one, which go on", async () => {
    const { cwd, program } = start('process.stdin.once("data", () => wasm.spin()); console.log("waiting");');
    await program.printed("waiting");
    program.child.kill("SIGUSR2");
    await program.printed(".dump1");
    program.child.stdin!.write("go\n");
    await program.printed("busy");
    program.child.kill("SIGUSR2");
    await program.printed(".dump2");
    program.child.kill("SIGTERM");
    await program.ended;
    const runs = runFolders(cwd).map((name) => readRun(join(cwd, "memshade.out", name)));
    expect(runs.map(({ end, heap }) => [end.kind, heap?.allocations])).toEqual([
      ["signal", 4],
      ["dump", 3],
      ["dump", 4],
    ]);
  });

  it("SIGUSR2 writes dumps whose figures fit together, though the program goes on allocating", async () => {
    const cwd = newFolder();
    const site = "(call $free (call $malloc (i32.const 24)))";
    writeProgram(
      cwd,
      "busy.wasm",
      `(module (memory (export "memory") 2) ${ALLOCATOR}
        (func (export "_start") (loop $for_good
          (global.set $top (i32.const 4096)) ${site.repeat(200)} (br $for_good))))`,
    );
    const program = startMemshade(["run", "--out", "here", "busy.wasm"], { cwd });
    while (!existsSync(join(cwd, ".here.partial"))) await new Promise((done) => setTimeout(done, 10));
    await new Promise((done) => setTimeout(done, 1000));
    const gaps: string[] = [];
    for (let dump = 1; dump <= 5; dump++) {
      program.child.kill("SIGUSR2");
      await program.printed(`here.dump${dump}`);
      const { profile } = await loadHeap(join(cwd, `here.dump${dump}`));
      gaps.push(...gapsOf(profile));
    }
    // Another program may delay the recorder while it reads a dump.
    const told = (all: readonly string[]) =>
      all.filter((gap) => !/lost or still reachable is not known/.test(gap));
    expect(new Set(told(gaps).map((gap) => gap.replace(/^[\d,]+/, "N")))).toEqual(
      new Set([
        "N allocations were made while the tables were read: some of these, and some blocks that were freed meanwhile, are missing.",
      ]),
    );
    program.child.kill("SIGTERM");
    await program.ended;
    expect(told(gapsOf((await loadHeap(join(cwd, "here"))).profile))).toEqual([]);
  });
});
