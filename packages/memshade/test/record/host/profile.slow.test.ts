import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { dump, FormatError, ProfiledError, profile, readRaw, reset, UserError } from "../../../src/index.ts";
import { assemble, LIBRARY } from "../../cli/support/programs.ts";

const LIBRARY_BYTES = assemble(LIBRARY);
const IMPORTS = { host: { notify() {} } };
type Fill = (count: number) => number;

describe("profile()", () => {
  it("gives the profile and the value of the callback", async () => {
    const { value, run, raw } = await profile(
      LIBRARY_BYTES,
      async (instantiate) => ((await instantiate(IMPORTS)).exports.fill as Fill)(3),
      { name: "library.wasm" },
    );
    expect(value).toBe(4096 + 2 * 48);
    expect(run).toMatchObject({
      program: "library.wasm",
      end: { kind: "exit" },
      heap: { allocations: 3, liveBytes: 72 },
    });
    expect(run.modules[0].functions.map(({ name }) => name)).toContain("fill");
    const [context] = readRaw(raw).contexts;
    expect(context.mib).toMatchObject({ allocCount: 3, totalSize: 72n });
  });

  it("says with each tool's part what that tool does not see, and nothing of the others", async () => {
    const { run, toolFiles } = await profile(
      LIBRARY_BYTES,
      async (instantiate) => ((await instantiate(IMPORTS)).exports.fill as Fill)(3),
      { name: "library.wasm", tools: ["heap", "waste", "workingset"] },
    );
    const others = toolFiles.filter(({ name }) => ["waste.json", "workingset.json"].includes(name));
    const ofTools = others.map(({ contents }) => JSON.parse(String(contents)).notTracked.join());
    const ofHeap = [...run.notTracked, ...run.heap!.notTracked!, ...run.modules[0].notTracked];
    const host = /The host may read any memory/;
    expect(ofTools[0]).toMatch(host);
    expect(ofTools[1]).not.toMatch(host);
    expect(ofHeap.join()).not.toMatch(host);
  });

  it("records several instances and hides its own exports", async () => {
    const { run } = await profile(LIBRARY_BYTES.buffer, async (instantiate) => {
      for (const count of [1, 2]) {
        const { exports } = await instantiate(IMPORTS);
        (exports.fill as Fill)(count);
        expect(Object.keys(exports).filter((name) => name.startsWith("memshade"))).toEqual([]);
      }
    });
    expect(run).toMatchObject({ modules: [{ instances: 2 }], heap: { allocations: 3 } });
  });

  it("can be dumped and reset while it runs, from inside and from outside", async () => {
    const { run } = await profile(LIBRARY_BYTES, async (instantiate, recording) => {
      const { exports } = await instantiate(IMPORTS);
      const { malloc, free } = exports as Record<string, (n: number) => number>;
      malloc(8);
      for (let i = 0; i < 3; i++) free(malloc(16));
      expect(recording.dump().run).toMatchObject({
        end: { kind: "dump" },
        heap: { allocations: 4, liveBlocks: 1 },
      });
      expect(dump()?.run.heap?.allocations).toBe(4);
      reset();
      // Live blocks are still recorded; released blocks are not.
      expect(dump()?.run.heap).toMatchObject({ allocations: 1, frees: 0, liveBlocks: 1 });
      free(malloc(32));
    });
    expect(run.heap).toMatchObject({ allocations: 2, allocatedBytes: 40, frees: 1 });
    expect(dump()).toBeUndefined();
  });

  it("hands over what was recorded when the callback fails", async () => {
    const failing = profile(LIBRARY_BYTES, async (instantiate) => {
      const { exports } = await instantiate(IMPORTS);
      (exports.trap as () => void)();
    });
    const error = await failing.catch((reason: unknown) => reason as ProfiledError);
    expect(error).toBeInstanceOf(ProfiledError);
    expect((error as ProfiledError).cause).toBeInstanceOf(WebAssembly.RuntimeError);
    expect((error as ProfiledError).profile.run).toMatchObject({
      end: { kind: "trap", message: "unreachable" },
      heap: { allocations: 1 },
    });
    // Test runners print enumerable properties: thousands of lines of bytes.
    expect(Object.keys(error as ProfiledError)).toEqual([]);
    expect(inspect(error, { depth: 9, maxArrayLength: 9 })).not.toMatch(/Uint8Array|Buffer/);
  });

  it("refuses what is no module and options that do not fit it", async () => {
    await expect(profile(Uint8Array.of(1, 2, 3), () => 0)).rejects.toThrow(FormatError);
    await expect(profile(LIBRARY_BYTES, () => 0, { allocator: "malloc=nothing" })).rejects.toThrow(UserError);
  });

  it("measures lifetimes in milliseconds when asked to", async () => {
    const { run } = await profile(
      LIBRARY_BYTES,
      async (instantiate) => ((await instantiate(IMPORTS)).exports.fill as Fill)(1),
      { clock: "wall" },
    );
    expect(run.tools.heap?.clock).toEqual({ kind: "wall", unit: "ms" });
  });

  it("empties full tables in time, losing nothing", async () => {
    const { run } = await profile(
      LIBRARY_BYTES,
      async (instantiate) => {
        const { fill, malloc, free } = (await instantiate(IMPORTS)).exports as Record<
          string,
          (n: number) => number
        >;
        for (let i = 0; i < 50; i++) free(malloc(16 + i));
        fill(10);
      },
      { maxContexts: 2 },
    );
    expect(run.heap?.allocations).toBe(60);
  });
});
