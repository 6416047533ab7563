import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { type ExportFormat, exportProfile, type Profile, profile, UserError } from "../../../src/index.ts";
import { assemble, LIBRARY } from "../../cli/support/programs.ts";
import { readStacks, sumsOf } from "./readers.ts";

const LINES = readFileSync(
  fileURLToPath(new URL("../../fixtures/programs/debug/lines.wasm", import.meta.url)),
);
const LIBRARY_BYTES = assemble(LIBRARY);
let recorded: Profile;
beforeAll(async () => {
  recorded = await profile(
    LIBRARY_BYTES,
    async (instantiate) => {
      const { fill } = (await instantiate({ host: { notify() {} } })).exports;
      return (fill as (count: number) => number)(3);
    },
    { name: "library.wasm", tools: ["heap", "waste", "workingset"], hostStacks: "off" },
  );
});

const read = (format: ExportFormat, ...more: [Parameters<typeof exportProfile>[2]?]) =>
  Buffer.from(exportProfile(recorded, format, ...more));

describe("exportProfile()", () => {
  it("writes the heap, with the totals of the run", () => {
    const { heap } = recorded.run;
    expect(sumsOf(readStacks("pprof", read("pprof")))).toMatchObject({
      alloc_objects: heap!.allocations,
      alloc_space: heap!.allocatedBytes,
      accesses: heap!.heapAccesses,
      peak_space: heap!.peakBytes,
      inuse_space: heap!.liveBytes,
    });
    expect(`${read("folded", { by: "live" })}`).toMatch(/^\S*fill;?\S* 72\n$/);
  });

  it("writes the other tools, and what is over time", () => {
    const { totals } = JSON.parse(
      `${recorded.toolFiles.find(({ name }) => name === "waste.json")!.contents}`,
    );
    const sums = sumsOf(readStacks("speedscope", read("speedscope", { tool: "waste" })));
    expect(sums.store_bytes).toBe(totals.bytesWritten);
    expect(`${read("csv", { tool: "workingset" })}`).toMatch(/^instance,module,factor,/);
    expect(`${read("csv", { tool: "heap" })}`).toMatch(/^instance,module,interval,/);
    const { traceEvents } = JSON.parse(`${read("chrome-trace", { tool: "heap" })}`);
    expect(traceEvents[0].args.name).toBe("heap of library.wasm, 1 µs = 1 allocation");
  });

  it("writes of what is over time the same as the command where no tool is said", () => {
    expect(`${read("csv")}`).toBe(`${read("csv", { tool: "workingset" })}`);
    const { traceEvents } = JSON.parse(`${read("chrome-trace")}`);
    const names = (traceEvents as { args: { name?: string } }[]).map(({ args }) => args.name);
    expect(names).toContain("heap of library.wasm, 1 µs = 1 allocation");
    expect(names.some((name) => name?.startsWith("working set of library.wasm"))).toBe(true);
  });

  it("has the lines of the module that it is given", async () => {
    const lines = await profileOfLines();
    const placed = (file: Uint8Array) =>
      readStacks("pprof", Buffer.from(file)).alloc_space!.flatMap(({ frames }) => frames);
    expect(placed(exportProfile(lines, "pprof")).join()).not.toContain("lines.c");
    expect(placed(exportProfile(lines, "pprof", { module: LINES })).join()).toMatch(/ \S*lines\.c:\d+/);
  });

  it.each([
    [
      "perf",
      {},
      'the format is one of pprof, firefox, speedscope, folded, dhat, heapprofile, chrome-trace, csv, not "perf"',
    ],
    ["folded", { by: "speed" }, "by takes one of bytes, peak, "],
    ["folded", { by: "dead" }, "by dead is for --tool waste"],
    ["csv", { tool: "waste" }, "waste has none"],
    ["csv", { tool: "objects" }, "objects over time are in memshade report --json"],
    ["chrome-trace", { by: "peak" }, "have no stacks: leave out by"],
  ] as const)("refuses %s with %j", (format, options, message) => {
    expect(() => exportProfile(recorded, format as ExportFormat, options)).toThrow(UserError);
    expect(() => exportProfile(recorded, format as ExportFormat, options)).toThrow(message);
  });

  it("says which tool a profile was recorded without", async () => {
    const heapAlone = await profile(LIBRARY_BYTES, () => undefined, { tools: ["heap"] });
    expect(() => exportProfile(heapAlone, "pprof", { tool: "waste" })).toThrow(
      "the profile has no waste: it was recorded without that tool",
    );
  });
});

/** A program for WASI, up to its first output. */
function profileOfLines(): Promise<Profile> {
  const leave = () => {
    throw new Error("printed");
  };
  return profile(
    LINES,
    async (instantiate) => {
      const { exports } = await instantiate({
        wasi_snapshot_preview1: new Proxy({}, { get: () => leave }) as WebAssembly.ModuleImports,
      });
      expect(() => (exports._start as () => void)()).toThrow("printed");
    },
    { tools: ["heap"], hostStacks: "off" },
  );
}
