import { describe, expect, it } from "vitest";
import { readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { readWaste } from "../../../src/profile/model/waste.ts";
import { profile } from "../../../src/record/host/profile.ts";
import type { Profile } from "../../../src/record/host/run/recorder.ts";
import type { HostStacks } from "../../../src/record/tools/heap-options.ts";
import { wat } from "../../support/assemble.ts";
import { BUMP } from "../../support/profiled.ts";

const ALLOCATE = "(drop (call $malloc (i32.const 8)))";

/** `first` allocates. `rare` does too, and sometimes also at a second site. `back` calls the host between two allocations. */
const MODULE = wat(`(module (import "host" "call" (func $call)) (memory 32 32) ${BUMP}
  (table (export "table") 1 funcref) (elem (i32.const 0) $first)
  (func $first (export "first") ${ALLOCATE})
  (func (export "inside") (call_indirect (i32.const 0)))
  (func (export "rare") (param i32) (call $first) (if (local.get 0) (then ${ALLOCATE})))
  (func (export "back") ${ALLOCATE} (call $call) ${ALLOCATE})
  (func (export "out") (call $call))
  (func (export "trap") ${ALLOCATE} (unreachable)))`);

const MODULE_OF_ANOTHER_NAME = wat(`(module (memory 32 32) ${BUMP} (func (export "alone") ${ALLOCATE}))`);

type Exports = Record<string, (...operands: number[]) => number> & { table: WebAssembly.Table };

async function record(
  hostStacks: HostStacks | undefined,
  run: (exports: Exports) => void,
  call: (exports: Exports) => void = () => {},
): Promise<Profile> {
  return profile(
    MODULE,
    async (instantiate) => {
      let exports: Exports;
      const instance = await instantiate({ host: { call: () => call(exports) } });
      exports = instance.exports as Exports;
      run(exports);
    },
    { name: "m", ...(hostStacks === undefined ? {} : { hostStacks }) },
  );
}

/** Blocks per call path up to this file's outermost function: wasm frames as `wasm`, JavaScript frames by name. */
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

/** Blocks per call path of the module's frames alone. */
function modulePaths({ run, raw }: Profile): Record<string, number> {
  const start = BigInt(run.host?.start ?? 1 << 30);
  const found: Record<string, number> = {};
  for (const { pcs, mib } of readRaw(raw).contexts) {
    const path = pcs.filter((pc) => pc < start).join();
    found[path] = (found[path] ?? 0) + mib.allocCount;
  }
  return found;
}

describe("a call path that the host has entered", () => {
  it("goes on in JavaScript, with file and line", async () => {
    const recorded = await record("exact", function program(exports) {
      const helper = () => exports.first();
      helper();
    });
    expect(paths(recorded)).toEqual({ "wasm < helper < program": 1 });
    expect(recorded.run.host).toMatchObject({ mode: "exact", asked: 1, leftOut: 0 });
    const [helper] = recorded.run.host!.frames;
    expect(helper.file).toBe(import.meta.filename);
    expect(helper.line).toBeGreaterThan(1);
  });

  it("has the function itself as its innermost frame where the host calls malloc", async () => {
    const recorded = await record("exact", function program({ malloc }) {
      malloc(8);
    });
    expect(paths(recorded)).toEqual({ "wasm < program": 1 });
    const off = await record("off", ({ malloc }) => void malloc(8));
    expect(modulePaths(recorded)).toEqual(modulePaths(off));
  });

  it("tells apart who has called in and who was called out and came back", async () => {
    const recorded = await record(
      "exact",
      function program({ back }) {
        back();
      },
      function again({ first }) {
        first();
      },
    );
    expect(Object.keys(paths(recorded)).filter((path) => path.includes("again"))).toEqual([
      expect.stringMatching(/^wasm < again < .*call < wasm < program$/),
    ]);
    expect(paths(recorded)["wasm < program"]).toBe(2);
  });

  it("asks for an entry further out, which has allocated nothing before", async () => {
    const recorded = await record(
      "exact",
      function program({ back, table }) {
        void table;
        back();
      },
      ({ first }) => first(),
    );
    const of = Object.keys(paths(recorded)).filter((path) => path.endsWith("wasm < program"));
    expect(of).toHaveLength(2);
  });

  it("has no entry where the module calls its own function through a table", async () => {
    const run = ({ inside }: Exports) => void inside();
    const [exact, off] = [await record("exact", run), await record("off", run)];
    expect(Object.keys(paths(exact))).toHaveLength(1);
    expect(modulePaths(exact)).toEqual(modulePaths(off));
  });

  it("is as without JavaScript, where that is left out", async () => {
    const run = (exports: Exports): void => {
      for (let i = 0; i < 500; i++) {
        exports.rare(i % 100 === 7 ? 1 : 0);
        exports.malloc(8);
        if (i % 50 === 0) exports.back();
      }
    };
    const back = ({ first }: Exports): void => void first();
    const off = modulePaths(await record("off", run, back));
    expect((await record("off", run, back)).run.host).toBeUndefined();
    for (const how of ["sampled", "exact"] as const)
      expect(modulePaths(await record(how, run, back))).toEqual(off);
  });

  it("is of all calls until some thousand were asked, then of few of a kind, always of the same ones", async () => {
    const recordCalls = (calls: number) =>
      record(undefined, (exports) => {
        for (let i = 0; i < calls; i++) exports.first();
      });
    expect((await recordCalls(2048)).run.host).toMatchObject({ mode: "sampled", asked: 2048, leftOut: 0 });
    const [one, two] = await Promise.all([0, 0].map(() => recordCalls(5000)));
    const { asked, leftOut } = one.run.host!;
    expect(asked + leftOut).toBe(5000);
    expect(asked).toBeLessThan(2048 + 200);
    expect(one.raw).toEqual(two.raw);
    expect(one.run).toEqual(two.run);
  });

  it("is of all calls too where two callers make a few hundred", async () => {
    const recorded = await record(undefined, function program(exports) {
      const often = () => exports.first();
      const seldom = () => exports.first();
      for (let i = 0; i < 194; i++) {
        often();
        if (i % 3 === 0) seldom();
      }
    });
    expect(paths(recorded)).toEqual({
      "wasm < often < program": 194,
      "wasm < seldom < program": 65,
    });
  });

  it("is counted once where two entries of one path allocate first", async () => {
    const recorded = await record(
      "sampled",
      ({ out }) => void out(),
      ({ first }) => void first(),
    );
    expect(recorded.run.host).toMatchObject({ asked: 2, leftOut: 0 });
  });

  it("is asked for out of turn where a rare path has its first allocation in common with a frequent one", async () => {
    const recorded = await record(undefined, function program(exports) {
      const usual = () => exports.rare(0);
      const seldom = () => exports.rare(1);
      for (let i = 0; i < 3000; i++) usual();
      seldom();
    });
    // The call path without `seldom` is already left out.
    expect(paths(recorded)["wasm < seldom < program"]).toBe(1);
  });
});

describe("a stack with more on it than one module and its callers", () => {
  it("gives each of two modules the frames up to its own next call, whoever lies between", async () => {
    const recorded: Profile[] = [];
    const inner = (use: (exports: Exports) => Promise<void>) =>
      profile(MODULE_OF_ANOTHER_NAME, async (instantiate) => use((await instantiate()).exports as Exports), {
        name: "inner",
        hostStacks: "exact",
      }).then((of) => recorded.push(of));
    await inner(async (other) => {
      recorded.push(
        await record(
          "exact",
          function program({ back }) {
            back();
          },
          function between({ first }) {
            const outer = () => other.alone();
            outer();
            first();
          },
        ),
      );
    });
    const [ofOuter, ofInner] = recorded.map(paths);
    expect(ofOuter).toMatchObject({ "wasm < program": 2 });
    expect(Object.keys(ofOuter)).toContainEqual(
      expect.stringMatching(/^wasm < between < .* < wasm < program$/),
    );
    // Frames of the other module are listed below the first, as frames of the host.
    expect(Object.keys(ofInner)).toEqual([expect.stringMatching(/^wasm < outer < between < .* < program$/)]);
  });

  it("goes on behind await, and begins anew in what the engine calls by itself", async () => {
    const recorded = await profile(
      MODULE,
      async function program(instantiate) {
        const { first, malloc } = (await instantiate({ host: { call: () => {} } })).exports as Exports;
        async function awaited(): Promise<void> {
          await null;
          first();
        }
        await awaited();
        await new Promise<void>((resolve) => {
          setTimeout(function alarm() {
            malloc(8);
            resolve();
          }, 1);
        });
      },
      { name: "m", hostStacks: "exact" },
    );
    const found = Object.keys(paths(recorded));
    expect(found).toContain("wasm < awaited < program");
    expect(found).toContainEqual(expect.stringMatching(/^wasm < alarm(?!.*program)/));
    expect(recorded.run.host!.frames.find(({ name }) => name === "program")).toMatchObject({ async: true });
  });
});

describe("the paths of blocks that the waste tool tells", () => {
  it("have no entries of the host, which are no code of the module", async () => {
    const recorded = await profile(
      MODULE,
      async (instantiate) => {
        const { exports } = await instantiate({ host: { call: () => {} } });
        const { rare } = exports as Exports;
        const first = () => rare(1);
        const second = () => rare(1);
        for (let i = 0; i < 100; i++) first();
        second();
      },
      { name: "m", tools: ["heap", "waste"] },
    );
    const file = recorded.toolFiles.find(({ name }) => name === "waste.json")!;
    const { blocks } = readWaste(String(file.contents));
    expect(blocks!.map(({ ips }) => ips.length).sort()).toEqual([1, 2]);
    expect(blocks!.flatMap(({ ips }) => ips).every(({ address }) => address < 2 ** 31)).toBe(true);
  });
});

describe("asking for the host's stack", () => {
  const call = function program({ first }: Exports): void {
    first();
  };

  it("runs nothing of the program, and leaves Error as it was", async () => {
    const { stackTraceLimit, prepareStackTrace } = Error;
    let calls = 0;
    try {
      Error.stackTraceLimit = 0;
      Error.prepareStackTrace = () => ++calls;
      expect(paths(await record("exact", call))).toEqual({ "wasm < program": 1 });
      expect(Error.stackTraceLimit).toBe(0);
      expect(String(Error.prepareStackTrace)).toContain("++calls");
      expect(calls).toBe(0);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      Error.prepareStackTrace = prepareStackTrace;
    }
  });

  it("finds the caller behind a deep recursion of the module, and after a trap", async () => {
    const recorded = await record("exact", function program(exports) {
      const trapping = () => exports.trap();
      expect(trapping).toThrow();
      const after = () => exports.first();
      after();
    });
    expect(paths(recorded)["wasm < after < program"]).toBe(1);
    expect(Object.keys(paths(recorded)).some((path) => path.startsWith("wasm < trapping"))).toBe(true);
  });

  it("stands a recursion through the module and back", async () => {
    let depth = 0;
    const recorded = await record(
      "exact",
      ({ back }) => void back(),
      function recursive({ back }) {
        if (depth++ < 1000) back();
      },
    );
    expect(recorded.run.heap!.allocations).toBe(2002);
    expect(readRaw(recorded.raw).contexts.length).toBeLessThan(20);
  });
});
