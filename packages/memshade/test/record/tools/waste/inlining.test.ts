import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import {
  inlinedSites,
  knownFrequencies,
  runsPerSite,
  siteFrequencies,
} from "../../../../src/record/tools/waste/pass/inlining.ts";
import { findSites } from "../../../../src/record/tools/waste/pass/weaving-plan.ts";
import { wat } from "../../../support/assemble.ts";

const LOAD = "(drop (i32.load (local.get 0)))";
const loop = (body: string) => `(loop $l ${body} (br_if $l (local.get 0)))`;

function inlined(functions: readonly string[], runs?: { site: number; runs: number }[]): number[][] {
  const module = decodeModule(
    wat(`(module (memory 1) ${functions.map((body, i) => `(func $f${i} (param i32) ${body})`).join("\n")})`),
  );
  const sites = findSites(module, []);
  const guessed = siteFrequencies(module, sites);
  const known = runs?.map(({ site, runs }) => ({ offset: sites.offset[site], runs }));
  const frequencies =
    known === undefined
      ? guessed
      : knownFrequencies(
          sites,
          runsPerSite(sites, { offsets: known.map((one) => one.offset), runs: known.map((one) => one.runs) }),
          guessed,
        );
  const all = [...inlinedSites(module, sites, frequencies)];
  return functions.map((_, i) => all.slice(sites.firstOfFunction[i], sites.firstOfFunction[i + 1]));
}

const count = (sites: readonly number[]) => sites.reduce((sum, one) => sum + one, 0);

describe("what is followed inline", () => {
  it("is first what stands in loops, then what stands in functions that are called from loops", () => {
    const plain = LOAD.repeat(100);
    const [inLoops, called, others] = inlined([
      `${loop(loop(LOAD.repeat(4)))} ${loop("(call $f1 (i32.const 1))")} ${plain}`,
      LOAD.repeat(4),
      plain,
    ]);
    expect(inLoops.slice(0, 4)).toEqual([1, 1, 1, 1]);
    expect(called).toEqual([1, 1, 1, 1]);
    expect(count(others)).toBeLessThan(100);
  });

  it("adds no more than twice the code of the module", () => {
    const body = LOAD.repeat(2000);
    const [sites] = inlined([body]);
    // A load of 7 bytes with its operand and its end leaves room to inline a seventh of the loads.
    expect(count(sites)).toBeGreaterThan(200);
    expect(count(sites)).toBeLessThan(2000 / 6);
  });

  it("makes no function larger than 128 KB, and leaves larger ones as they are", () => {
    const [large, larger, small] = inlined([
      loop(LOAD.repeat(17_000)),
      loop(LOAD.repeat(25_000)),
      loop(LOAD.repeat(50)),
    ]);
    expect(count(large)).toBeGreaterThan(0);
    expect(count(large)).toBeLessThan(((128 * 1024 - 17_000 * 6) / 100) * 1.1);
    expect(count(larger)).toBe(0);
    expect(count(small)).toBe(50);
  });

  it("is what ran, where that is known, and nothing in functions that did not run", () => {
    const body = loop(LOAD.repeat(20));
    const [first, second] = inlined([body, body], [{ site: 25, runs: 1000 }]);
    expect(count(first)).toBe(0);
    expect(second[5]).toBe(1);
  });
});
