import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Run } from "../../src/profile/model/run.ts";
import { memshade, newFolder, type Outcome, readRun } from "./support/command-line.ts";
import { writeProgram } from "./support/programs.ts";

const MODULE = `(module (import "env" "memory" (memory 1 65536))
  (global $next (mut i32) (i32.const 1024))
  (func $malloc (export "malloc") (param i32) (result i32)
    (global.set $next (i32.add (global.get $next) (i32.const 64))) (global.get $next))
  (func (export "free") (param i32))
  (func (export "run") (i32.store (call $malloc (i32.const 48)) (i32.const 5))))`;

const SCRIPT = `
  const [pages, then] = process.argv.slice(2);
  const compiled = new WebAssembly.Module(require("node:fs").readFileSync("m.wasm"));
  for (const initial of pages.split(",").map(Number)) {
    const memory = new WebAssembly.Memory({ initial, maximum: 65536 });
    new WebAssembly.Instance(compiled, { env: { memory } }).exports.run();
  }
  if (then === "kill") process.kill(process.pid, "SIGKILL");`;

/** Simulates a machine with this amount of memory. */
const SMALL_MACHINE = "process.availableMemory = () => 200 * 2 ** 20;";

function withProgram(): string {
  const cwd = newFolder();
  writeProgram(cwd, "m.wasm", MODULE);
  writeFileSync(join(cwd, "app.cjs"), SCRIPT);
  writeFileSync(join(cwd, "small-machine.cjs"), SMALL_MACHINE);
  return cwd;
}

interface Recorded extends Outcome {
  run: Run;
  waste: { totals: { stores: number }; notRecorded?: { reason: string }[]; notTracked: string[] };
}

async function recorded(options: string[], program: string[], isSmall = false): Promise<Recorded> {
  const cwd = withProgram();
  const env = isSmall ? { NODE_OPTIONS: `--require=${join(cwd, "small-machine.cjs")}` } : {};
  const outcome = await memshade(["node", "--out", "out", ...options, "app.cjs", ...program], { cwd, env });
  const folder = join(cwd, "out");
  const waste = JSON.parse(readFileSync(join(folder, "waste.json"), "utf8"));
  return { ...outcome, run: readRun(folder), waste };
}

describe("a memory from outside that the waste tool cannot follow", () => {
  it("is left to the other tools of the run", async () => {
    const { run, waste, stderr } = await recorded(["--tool", "heap,waste,workingset"], ["20000"]);
    expect(run.heap).toMatchObject({ allocations: 1, allocatedBytes: 48, heapAccesses: 1 });
    expect(run.modules[0]!.notRecorded).toEqual({
      waste: expect.stringMatching(
        /^The memory from outside has 1,250 MiB, more than the \d+ MiB that the waste tool can cover/,
      ),
    });
    expect(waste).toMatchObject({ totals: { stores: 0 }, notRecorded: [{ module: 0 }] });
    expect(stderr).toContain("m.wasm: The memory from outside has 1,250 MiB");
  });

  it("is told of where other instances of the module are followed, whichever comes first", async () => {
    for (const pages of ["2,20000", "20000,2"]) {
      const { run, waste } = await recorded(["--tool", "heap,waste"], [pages]);
      expect(run.heap!.allocations).toBe(2);
      expect(waste.totals.stores).toBe(1);
      expect(waste.notRecorded).toBeUndefined();
      expect(waste.notTracked.join("\n")).toMatch(
        /Some instances are not recorded\. The memory from outside/,
      );
    }
  });
});

describe("a memory that takes more than the machine has with --pairs", () => {
  it("is left to the other tools of the run, by what it really has", async () => {
    const { run, waste, stderr } = await recorded(["--tool", "heap,waste", "--pairs"], ["2,500"], true);
    expect(run.heap!.allocations).toBe(2);
    expect(waste.totals.stores).toBe(1);
    expect(stderr).toMatch(/the 200 MiB available here are enough for 17 MiB of its own/);
    expect(stderr).toMatch(
      /m\.wasm: The memory from outside has 31 MiB, which with --pairs may take 360 MiB; 200 MiB are available: the waste tool records nothing of this module\. To record it, leave --pairs out/,
    );
  });

  it("is the likely reason where the program was killed", async () => {
    const cwd = withProgram();
    const outcome = await memshade(["node", "--tool", "waste", "--pairs", "app.cjs", "2", "kill"], { cwd });
    expect(outcome.stderr).toMatch(
      /the program was killed, perhaps because memory ran out: --pairs takes up to 10\.5 times the memory/,
    );
    const plain = await memshade(["node", "--tool", "waste", "app.cjs", "2", "kill"], { cwd });
    expect(plain.stderr).not.toContain("memory ran out");
  });
});
