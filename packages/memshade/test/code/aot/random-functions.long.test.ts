import { describe, expect, it } from "vitest";
import { compile } from "../../../src/code/aot/compile.ts";
import { compareSeed } from "./compare-with-engine.ts";
import { RUNS_NATIVE } from "./native-host.ts";
import { randomCode } from "./random-code.ts";

const MODULES = 150;

describe.skipIf(!RUNS_NATIVE)("random functions", () => {
  it.each([
    { registers: 12, first: 1 },
    { registers: 0, first: 10_001 },
    { registers: 2, first: 20_001 },
    { registers: 5, first: 30_001 },
  ])("do as machine code what they do in the engine, with $registers registers", ({ registers, first }) => {
    let calls = 0;
    for (let seed = first; seed < first + MODULES; seed++) {
      const compared = compareSeed(seed, { registers });
      expect(compared.differences).toEqual([]);
      calls += compared.calls;
    }
    expect(calls).toBeGreaterThan(MODULES * 15);
  });

  it("become the same bytes every time", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { bytes } = randomCode(seed);
      expect(compile(bytes.slice())).toEqual(compile(bytes));
    }
  });
});
