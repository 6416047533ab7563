import { describe, expect, it } from "vitest";
import { readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { profile } from "../../../src/record/host/profile.ts";
import type { Profile } from "../../../src/record/host/run/recorder.ts";
import type { HostStacks } from "../../../src/record/tools/heap-options.ts";
import { wat } from "../../support/assemble.ts";
import { BUMP } from "../../support/profiled.ts";

/** JavaScript promise integration; some engines lack it. */
const engine = WebAssembly as unknown as {
  Suspending: new (call: (...operands: number[]) => unknown) => object;
  promising<T>(call: unknown): (...operands: number[]) => Promise<T>;
};

const ALLOCATE = "(drop (call $malloc (i32.const 8)))";

/** `load` waits. It allocates in a function of its own before the wait (if asked to) and after. `quick` does not wait. */
const MODULE = wat(`(module (import "host" "wait" (func $wait (param i32))) (memory 32 32) ${BUMP}
  (func $after ${ALLOCATE})
  (func $before ${ALLOCATE})
  (func (export "load") (param i32) (if (local.get 0) (then (call $before))) (call $wait (local.get 0)) (call $after))
  (func (export "quick") ${ALLOCATE}))`);

interface Exports {
  load(before: number): void;
  quick(): void;
}

async function record(
  wait: (before: number) => unknown,
  run: (load: (before: number) => Promise<void>, exports: Exports) => unknown,
  hostStacks: HostStacks = "exact",
): Promise<Profile> {
  return profile(
    MODULE,
    async (instantiate) => {
      const imports = { host: { wait: new engine.Suspending(wait) as unknown as WebAssembly.ImportValue } };
      const exports = (await instantiate(imports)).exports as unknown as Exports;
      await run(engine.promising(exports.load), exports);
    },
    { name: "m", hostStacks },
  );
}

/** Blocks per call path up to a function `program`: wasm code as its number of frames, JavaScript by name. */
function paths({ run, raw }: Profile): Record<string, number> {
  const start = BigInt(run.host?.start ?? 1 << 30);
  const found: Record<string, number> = {};
  for (const { pcs, mib } of readRaw(raw).contexts) {
    const names = pcs.map((pc) => (pc < start ? "wasm" : run.host!.frames[Number(pc - start) - 1].name));
    const end = names.findIndex((name) => name.includes("program"));
    const path = names.slice(0, end < 0 ? names.length : end + 1).join(" < ");
    found[path] = (found[path] ?? 0) + mib.allocCount;
  }
  return found;
}

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

describe.skipIf(engine.Suspending === undefined)("a call that waits for the host", () => {
  it("goes on under the frames that have called it, whoever else has entered meanwhile", async () => {
    const recorded = await record(soon, async function program(load, { quick }) {
      const one = () => load(1);
      const other = () => quick();
      const waiting = [one()];
      other();
      await Promise.all(waiting);
    });
    expect(paths(recorded)).toEqual({
      "wasm < wasm < one < program": 2,
      "wasm < other < program": 1,
    });
  });

  it("is asked for its callers before it waits, if it has allocated nothing so far", async () => {
    const recorded = await record(soon, async function program(load, { quick }) {
      const one = () => load(0);
      const waiting = one();
      quick();
      await waiting;
    });
    expect(paths(recorded)).toEqual({ "wasm < wasm < one < program": 1, "wasm < program": 1 });
  });

  it("does not stand below calls that come while it waits", async () => {
    const recorded = await record(soon, async function program(load, { quick }) {
      const all = Array.from({ length: 20 }, () => load(1));
      quick();
      await Promise.all(all);
      quick();
    });
    const longest = Math.max(
      ...readRaw(recorded.raw).contexts.map(({ pcs }) => pcs.filter((pc) => pc < 2n ** 32n).length),
    );
    expect(longest).toBe(2);
    expect(recorded.run.heap!.allocations).toBe(42);
  });

  it("is as others where the promise is there already, is rejected, or is none", async () => {
    let calls = 0;
    const recorded = await record(
      () =>
        [() => undefined, () => Promise.resolve(), () => Promise.reject(new Error("gone"))][calls++ % 3](),
      async function program(load, { quick }) {
        const one = () => load(1);
        for (let i = 0; i < 3; i++) {
          await one().catch(() => {});
          quick();
        }
      },
    );
    // If the promise is rejected, nothing is allocated afterwards.
    const found = paths(recorded);
    expect(found["wasm < wasm < one < program"]).toBe(5);
    expect(Object.entries(found).filter(([path]) => path.startsWith("wasm < program"))).toEqual([
      ["wasm < program", 3],
    ]);
  });

  it("is counted whole where a part of such calls is asked", async () => {
    const run = async function program(load: (before: number) => Promise<void>): Promise<void> {
      const one = () => load(0);
      for (let i = 0; i < 3000; i++) await one();
    };
    const [sampled, again] = await Promise.all([1, 2].map(() => record(async () => {}, run, "sampled")));
    const { asked, leftOut } = sampled.run.host!;
    expect(asked + leftOut).toBe(3000);
    expect(asked).toBeLessThan(1000);
    expect(sampled.run.heap!.allocations).toBe(3000);
    expect(sampled.raw).toEqual(again.raw);
  });
});
