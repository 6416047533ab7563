import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import { type InstrumentOptions, instrument } from "../../../src/record/tools/index.ts";
import { wat } from "../../support/assemble.ts";

const PROGRAMS = new URL("../../fixtures/programs/kernels/", import.meta.url);

function bodies(bytes: Uint8Array): { all: number; small: number } {
  const { bodies } = decodeModule(bytes);
  return { all: bodies.length, small: bodies.filter(({ start, end }) => end - start < 50).length };
}

describe("of the functions of a rewritten module", () => {
  it.each<InstrumentOptions>([
    {},
    { tools: ["workingset"] },
    { tools: ["waste"] },
    { tools: ["waste"], waste: { contexts: true } },
    { tools: ["heap", "waste", "workingset"] },
  ])("half are small, so engines let hot ones take in what they call: %j", (options) => {
    for (const name of ["parser", "stl"]) {
      const { all, small } = bodies(
        instrument(readFileSync(new URL(`${name}.wasm`, PROGRAMS)), options).bytes,
      );
      expect(small / all).toBeGreaterThanOrEqual(0.5);
      expect(small / all).toBeLessThan(0.51);
    }
  });

  it("none are added where enough are small", () => {
    const small = "(func (drop (i32.load (i32.const 0))))".repeat(400);
    const program = wat(`(module (memory 1) ${small})`);
    const { bytes } = instrument(program, { tools: ["workingset"] });
    const counted = bodies(bytes);
    expect(counted.small / counted.all).toBeGreaterThan(0.55);
  });
});
