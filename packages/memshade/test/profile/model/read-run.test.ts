import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { NO_GROWTH } from "../../../src/profile/model/growth.ts";
import { readMeasured, readRun } from "../../../src/profile/model/read-run.ts";
import { runText } from "../../../src/profile/model/run-text.ts";
import { heapPicture } from "../../heap-picture.ts";

const { run } = heapPicture("main > parse  3 x 16  live 1");

describe("reading run.json", () => {
  it("returns the run as it was written", () => {
    expect(readRun(JSON.stringify(run))).toEqual(run);
  });

  it("returns the sites that were written as columns, with members that few have", () => {
    const [site] = run.heap!.sites;
    const growth = { ...NO_GROWTH, chains: 1, copies: 2 };
    const sites = [
      site!,
      { ...site!, stackId: "2", temporary: 3, growth },
      { ...site!, stackId: "3", growth: { ...growth, steps: 1 } },
    ];
    const larger = { ...run, program: '\n    "sites": []', heap: { ...run.heap!, sites } };
    expect(readRun(runText(larger))).toEqual(JSON.parse(JSON.stringify(larger)));
    expect(readRun(runText({ ...run, heap: { ...run.heap!, sites: [] } })).heap!.sites).toEqual([]);
  });

  it("lets keys through that it does not know", () => {
    const richer = { ...run, added: { later: true } };
    expect(readRun(JSON.stringify(richer))).toEqual(richer);
  });

  it("reads a run of a version that knew drag by the clock alone, without it", () => {
    const drag = {
      followed: 3,
      blocks: 3,
      bytes: 48,
      byteTime: 48,
      draggedByteTime: 16,
      lateBlocks: 1,
      lateBytes: 16,
    };
    const { keptAfterUse: _, ...heap } = run.heap!;
    const earlier = { ...run, heap: { ...heap, drag, sites: heap.sites.map((site) => ({ ...site, drag })) } };
    const read = readRun(JSON.stringify(earlier));
    expect([read.heap, ...read.heap!.sites].map((part) => part!.keptAfterUse)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("takes a run without the heap tool", () => {
    const { heap: _, ...withoutHeap } = { ...run, tools: {}, files: {} };
    expect(readRun(JSON.stringify(withoutHeap)).heap).toBeUndefined();
  });

  it("takes the function that stands for calling contexts beyond the bounds", () => {
    const overflow = { index: -1, name: "[calling contexts beyond --max-contexts]", offset: 0, end: 1 };
    const [module] = run.modules;
    const full = { ...run, modules: [{ ...module, functions: [overflow, ...module.functions] }] };
    expect(readRun(JSON.stringify(full))).toEqual(full);
  });

  it.each([
    ["not JSON", "{", "it is not JSON"],
    [
      "another file",
      '{"name": "x"}',
      'it does not describe a memshade run (its schema is not "memshade-run")',
    ],
    ["no object", "null", 'it does not describe a memshade run (its schema is not "memshade-run")'],
    [
      "a later version",
      JSON.stringify({ ...run, version: 3 }),
      "it has version 3, this memshade reads version 1 or 2",
    ],
    [
      "a missing list",
      JSON.stringify({ ...run, modules: undefined }),
      "modules should be a list, but it is missing",
    ],
    [
      "a wrong count",
      JSON.stringify({ ...run, heap: { ...run.heap, allocations: -1 } }),
      "heap.allocations should be a count, but found -1",
    ],
    [
      "a wrong place deep inside",
      JSON.stringify(run).replace('"stackId":"1"', '"stackId":"one"'),
      'heap.sites[0].stackId should be a decimal number in quotes, but found "one"',
    ],
    [
      "a column that is too short",
      JSON.stringify({ ...run, heap: { ...run.heap, sites: { stackId: ["1", "2"], liveBytes: [1] } } }),
      "heap.sites.liveBytes should have 2 values, but has 1",
    ],
    [
      "a value without its row",
      JSON.stringify({
        ...run,
        heap: { ...run.heap, sites: { stackId: ["1"], stage: { rows: [1], values: [1] } } },
      }),
      "heap.sites.stage.rows[0] should be a row",
    ],
    [
      "a column that is no list",
      JSON.stringify({ ...run, heap: { ...run.heap, sites: { stackId: "1" } } }),
      "heap.sites.stackId should be a list, or rows with values",
    ],
    [
      "an unknown word",
      JSON.stringify({ ...run, end: { kind: "nap" } }),
      'end.kind should be "exit" or "trap" or "exception" or "signal" or "dump" or "ended", but found "nap"',
    ],
  ])("says in one line what is wrong: %s", (_, json, message) => {
    expect(() => readRun(json)).toThrow(new UserError(message));
  });

  it("ends in a run or a UserError for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...Object.keys(run)), (value, key) => {
        try {
          expect(readRun(JSON.stringify({ ...run, [key]: value }))).toBeTypeOf("object");
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
          expect((error as Error).message).not.toContain("\n");
        }
      }),
    );
  });
});

describe("reading measured.json", () => {
  const cost = { peakBytes: 2 ** 30, processorMs: 5200, rewritingMs: 2100, profileMs: 0 };
  const written = { schema: "memshade-measured", version: 1, ...cost };

  it("returns what the process took and nothing else", () => {
    expect(readMeasured(JSON.stringify({ ...written, added: "later" }))).toEqual({ process: cost });
  });

  it("returns what a native program had of memory", () => {
    const memory = { residentBytes: 4096, peakBytes: 8192 };
    const { schema, version } = written;
    expect(readMeasured(JSON.stringify({ schema, version, memory }))).toEqual({ memory });
    const allocator = { heldBytes: 3, freeBytes: 2, topBytes: 1 };
    const whole = { ...memory, allocator };
    expect(readMeasured(JSON.stringify({ schema, version, memory: whole }))).toEqual({ memory: whole });
    expect(() => readMeasured(JSON.stringify({ schema, version, memory: { peakBytes: -1 } }))).toThrow(
      UserError,
    );
  });

  it("says whether the program ran elsewhere", () => {
    expect(readMeasured(JSON.stringify({ ...written, profilerAlone: true })).process).toMatchObject({
      profilerAlone: true,
    });
  });

  it.each([
    ["half of it", '{"schema": "memshade-mea'],
    ["another file", JSON.stringify(run)],
    ["a later version", JSON.stringify({ ...written, version: 2 })],
    ["a figure that is missing", JSON.stringify({ ...written, processorMs: undefined })],
    ["a figure below zero", JSON.stringify({ ...written, peakBytes: -1 })],
    ["a figure that is none", JSON.stringify({ ...written, profileMs: "much" })],
  ])("refuses %s", (_what, text) => {
    expect(() => readMeasured(text)).toThrow(UserError);
  });
});
