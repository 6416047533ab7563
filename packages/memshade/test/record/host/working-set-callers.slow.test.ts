import { expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { markWorkingSet } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { findPhases } from "../../../src/explain/analyses/working-set.ts";
import { readWorkingSet } from "../../../src/profile/model/working-set/read-working-set.ts";
import type { WorkingSetProfile } from "../../../src/profile/model/working-set/working-set.ts";
import { profile } from "../../../src/record/host/profile.ts";
import type { HostStacks } from "../../../src/record/tools/heap-options.ts";
import { wat } from "../../support/assemble.ts";

/** `sweep` stores to each line up to an address, many times; `back` calls the host, which calls `sweep`. */
const MODULE = wat(`(module (import "host" "call" (func $call)) (memory (export "memory") 16)
  (func (export "sweep") (param $end i32) (param $times i32) (local $at i32)
    (loop $again
      (local.set $at (i32.const 0))
      (loop $next
        (i32.store (local.get $at) (local.get $times))
        (local.set $at (i32.add (local.get $at) (i32.const 64)))
        (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
      (local.set $times (i32.sub (local.get $times) (i32.const 1)))
      (br_if $again (local.get $times))))
  (func (export "back") (call $call)))`);

type Exports = Record<string, (...operands: number[]) => void>;

async function record(hostStacks?: HostStacks): Promise<WorkingSetProfile> {
  const { toolFiles } = await profile(
    MODULE,
    async function program(instantiate) {
      const call = function again() {
        exports.sweep(65536, 20);
      };
      const exports = (await instantiate({ host: { call } })).exports as Exports;
      const readAll = () => exports.sweep(524288, 4);
      const sumUp = () => exports.sweep(4096, 500);
      readAll();
      sumUp();
      exports.back();
    },
    {
      name: "m",
      tools: ["workingset"],
      workingset: { interval: 1000 },
      ...(hostStacks === undefined ? {} : { hostStacks }),
    },
  );
  return readWorkingSet(String(toolFiles.find(({ name }) => name === "workingset.json")!.contents));
}

it("stacks at snapshots go on with the scripts that have entered the module, between its frames too", async () => {
  const [{ stacks }] = (await record()).instances;
  const names = stacks.map((stack) =>
    stack.map(({ host, name }) => (host === undefined ? "wasm" : name?.replace(/^async /, ""))),
  );
  expect(names).toContainEqual(["wasm", "readAll", "program", ...names[0].slice(3)]);
  expect(names).toContainEqual(expect.arrayContaining(["sumUp"]));
  // The import's guard is not a function of the program.
  expect(names.find((stack) => stack.includes("again"))?.slice(0, 4)).toEqual([
    "wasm",
    "again",
    "wasm",
    "program",
  ]);
  const frame = stacks.flat().find(({ name }) => name === "sumUp");
  expect(frame).toMatchObject({ host: "script", file: import.meta.filename });
  expect(frame!.line).toBeGreaterThan(1);
});

it("phases have the names of the scripts' functions, where the module has none", async () => {
  const recorded = await record();
  markWorkingSet(recorded, new FrameRules());
  const names = findPhases(recorded.instances[0]).map(({ name }) => name);
  expect(names.slice(0, 2)).toEqual(["readAll", "sumUp"]);
});

it("stacks are those of the module alone where callers are left out", async () => {
  const [{ stacks }] = (await record("off")).instances;
  expect(stacks.flat().some(({ host }) => host !== undefined)).toBe(false);
  expect(stacks.length).toBeGreaterThan(0);
});
