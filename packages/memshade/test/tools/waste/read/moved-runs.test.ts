import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SiteRuns } from "../../../../src/tools/index.ts";
import { findSites } from "../../../../src/tools/index.ts";
import {
  buildRuns,
  buildRunsText,
  type FunctionRuns,
  movedRuns,
  programOf,
  readBuildRuns,
} from "../../../../src/tools/waste/read/moved-runs.ts";
import { decodeModule } from "../../../../src/wasm/index.ts";
import { wat } from "../../../support/assemble.ts";

const HASHMAP = new URL("../../../fixtures/programs/kernels/hashmap.wasm", import.meta.url);

const LOAD = "(drop (i32.load (local.get 0)))";
const STORE = "(i32.store (local.get 0) (i32.const 1))";
const build = (...functions: string[]): Uint8Array =>
  wat(`(module (memory 1) ${functions.map((code) => `(func (param i32) ${code})`).join(" ")})`);

function siteOffsets(original: Uint8Array): number[] {
  const { offset, length } = findSites(decodeModule(original), []);
  return [...offset.subarray(0, length)];
}

/** The n-th site of a module runs n times, and every second one with as many events. */
function allRan(original: Uint8Array): SiteRuns {
  const offsets = siteOffsets(original);
  return {
    offsets,
    runs: offsets.map((_, i) => i + 1),
    events: offsets.map((_, i) => (i % 2 === 0 ? i + 1 : 0)),
  };
}

const moved = (from: Uint8Array, runs: SiteRuns, to: Uint8Array): SiteRuns | undefined =>
  movedRuns(decodeModule(to), [buildRuns(decodeModule(from), runs)]);

describe("what ran of a program that was built anew", () => {
  it("is all of it where nothing changed", () => {
    const bytes = readFileSync(HASHMAP);
    const runs = allRan(bytes);
    expect(moved(bytes, runs, bytes)).toEqual({ ...runs, newFunctions: [] });
  });

  it("is found where functions have moved, and what was not there before is new", () => {
    const from = build(LOAD, LOAD + STORE, STORE);
    const to = build(`nop ${STORE}`, LOAD, `${LOAD}${STORE}`, STORE, STORE + STORE);
    const found = moved(from, allRan(from), to);
    const [, ...after] = siteOffsets(to);
    expect(found).toEqual({
      offsets: after.slice(0, 4),
      runs: [1, 2, 3, 4],
      events: [1, 0, 3, 0],
      newFunctions: [0, 4],
    });
  });

  it("tells functions with the same code apart by their order", () => {
    const from = build(LOAD, LOAD);
    const runs = { offsets: [siteOffsets(from)[1]], runs: [7], events: [0] };
    const to = build(STORE, LOAD, STORE, LOAD);
    const found = moved(from, runs, to);
    expect(found?.offsets).toEqual([siteOffsets(to)[3]]);
    expect(found?.newFunctions).toEqual([0, 2]);
  });

  it("is nothing where most of what ran is gone, or nothing ran", () => {
    const from = build(LOAD, STORE);
    const [load, store] = siteOffsets(from);
    const to = build(LOAD);
    expect(moved(from, { offsets: [load, store], runs: [3, 4], events: [0, 0] }, to)).toBeUndefined();
    expect(moved(from, { offsets: [load, store], runs: [4, 3], events: [0, 0] }, to)).toBeDefined();
    expect(moved(from, { offsets: [], runs: [], events: [] }, to)).toBeUndefined();
    expect(movedRuns(decodeModule(to), [])).toBeUndefined();
  });

  it("comes from the build that has most of it", () => {
    const [one, two, to] = [build(LOAD, STORE), build(LOAD, STORE + STORE), build(LOAD, STORE + STORE)];
    const all = { offsets: siteOffsets(two), runs: [9, 9, 9], events: [0, 0, 0] };
    const half = { offsets: siteOffsets(one), runs: [5, 5], events: [0, 0] };
    const builds = [buildRuns(decodeModule(one), half), buildRuns(decodeModule(two), all)];
    for (const order of [builds, [...builds].reverse()])
      expect(movedRuns(decodeModule(to), order)).toEqual({ ...all, newFunctions: [] });
  });
});

describe("the file of a build", () => {
  const functions: fc.Arbitrary<FunctionRuns[]> = fc.array(
    fc
      .record({
        shape: fc.nat({ max: 2 ** 32 - 1 }),
        sites: fc.uniqueArray(fc.tuple(fc.nat(1e6), fc.nat(2 ** 40), fc.nat()), { selector: ([at]) => at }),
      })
      .map(({ shape, sites }) => {
        sites.sort(([a], [b]) => a - b);
        return {
          shape,
          instructions: sites.map(([at]) => at),
          runs: sites.map(([, runs]) => runs),
          events: sites.map(([, , events]) => events),
        };
      }),
  );

  it("tells what went in", () => {
    fc.assert(
      fc.property(functions, (build) => {
        expect(readBuildRuns(buildRunsText(build))).toEqual(build);
      }),
    );
  });

  it("is not believed when it was cut, damaged or is of another format", () => {
    const whole = buildRunsText([{ shape: 40, instructions: [3, 5], runs: [9, 8], events: [0, 1] }]);
    expect(whole).toBe("memshade function runs 1\n14 3 9 0 2 8 1\n");
    for (const text of [
      "",
      whole.slice(0, -1),
      whole.slice(0, -3),
      whole.replace("runs 1", "runs 2"),
      whole.replace(" 9", " x"),
      whole.replace(" 9", " -9"),
      whole.replace("14 3", "14"),
    ])
      expect(readBuildRuns(text)).toBeUndefined();
  });
});

it("a program is known by what it imports and exports", () => {
  const of = (text: string) => programOf(decodeModule(wat(`(module ${text})`)));
  const first = of('(import "a" "b" (func)) (func (export "f"))');
  expect(of('(import "a" "b" (func)) (func nop) (func (export "f") nop)')).toBe(first);
  for (const other of ['(func (export "f"))', '(import "a" "c" (func)) (func (export "f"))'])
    expect(of(other)).not.toBe(first);
});
