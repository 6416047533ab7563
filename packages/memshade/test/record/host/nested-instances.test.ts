import { describe, expect, it } from "vitest";
import { readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { profile } from "../../../src/record/host/profile.ts";
import type { HostStacks } from "../../../src/record/tools/heap-options.ts";
import { wat } from "../../support/assemble.ts";
import { BUMP } from "../../support/profiled.ts";

/** Functions that allocate the given number of bytes: directly, or after a call of the host. */
const FUNCTIONS = `
  (func (export "allocate") (param $size i32) (drop (call $malloc (local.get $size))))
  (func (export "callFirst") (param $size i32)
    (call $call (local.get $size))
    (drop (call $malloc (local.get $size))))
  (func (export "pass") (param $size i32) (call $call (local.get $size)))`;
const MODULE = wat(
  `(module (import "host" "call" (func $call (param i32))) (memory 32 32) ${BUMP} ${FUNCTIONS})`,
);

type Call = (size: number) => void;
type Exports = Record<"allocate" | "callFirst" | "pass", Call>;

type Make = (call: Call) => Promise<Exports>;

/** Call paths by the size of their only block, up to the function `program`; the modules' frames are `wasm`. */
async function pathsOf(hostStacks: HostStacks, run: (make: Make) => Promise<() => void>) {
  const { run: recorded, raw } = await profile(
    MODULE,
    async (instantiate) => {
      const program = await run(async (call) => (await instantiate({ host: { call } })).exports as Exports);
      program();
    },
    { name: "m", hostStacks },
  );
  const start = BigInt(recorded.host!.start!);
  const found: Record<number, string> = {};
  for (const { pcs, mib } of readRaw(raw).contexts) {
    const names = pcs.map((pc) => (pc < start ? "wasm" : recorded.host!.frames[Number(pc - start) - 1].name));
    found[mib.minSize] = names.slice(0, names.indexOf("program") + 1).join(" < ");
  }
  return found;
}

describe.each(["exact", "sampled"] as const)("callers of instances that call each other, %s", (how) => {
  it("are those of each, where both are of one module", async () => {
    const paths = await pathsOf(how, async (make) => {
      const inner = await make(() => {});
      const outer = await make(function between(size) {
        inner.allocate(size + 1);
      });
      return function program() {
        outer.callFirst(100);
      };
    });
    expect(paths).toEqual({
      100: "wasm < program",
      101: "wasm < between < program",
    });
  });

  it("are those of each, where the outer one is entered again from the inner one", async () => {
    const paths = await pathsOf(how, async (make) => {
      const outer = await make(function toInner(size) {
        inner.callFirst(size + 1);
      });
      const inner = await make(function back(size) {
        outer.allocate(size + 1);
      });
      return function program() {
        outer.callFirst(100);
        outer.pass(200);
      };
    });
    expect(paths).toEqual({
      100: "wasm < program",
      101: "wasm < toInner < program",
      102: "wasm < back < toInner < wasm < program",
      201: "wasm < toInner < program",
      202: "wasm < back < toInner < wasm < program",
    });
  });

  it("go on through an instance that enters itself", async () => {
    const paths = await pathsOf(how, async (make) => {
      const only = await make(function again(size) {
        if (size < 103) only.callFirst(size + 1);
        else only.allocate(size + 1);
      });
      return function program() {
        only.callFirst(100);
      };
    });
    expect(paths).toEqual({
      100: "wasm < program",
      // Recursion is on the path once.
      101: "wasm < again < wasm < program",
      104: "wasm < again < wasm < program",
    });
  });
});
