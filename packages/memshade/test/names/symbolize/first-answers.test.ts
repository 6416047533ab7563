import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadObject } from "../../../src/names/load/objects.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";
import { sharedPath } from "../../shared-path.ts";
import { damaged } from "./damage.ts";

const PROGRAMS = [
  fileURLToPath(new URL("../../fixtures/programs/debug/lines.wasm", import.meta.url)),
  ...["memprof/cpp-inline/v4.exe", "memprof/lines/v5.exe"].flatMap(
    (name) => sharedPath(`fixtures/${name}`) ?? [],
  ),
].map((file) => ({ file: file.slice(file.lastIndexOf("/") + 1), object: loadObject(file).object }));

/** A relative position in the code, from 0 to 1. */
const somewhere = fc.double({ min: 0, max: 0.999_999, noNaN: true });

// The first lookups do not cache the data read for them.
describe.each(PROGRAMS)("the first answer of $file", ({ object }) => {
  const code = object.sections.find(({ name }) => name === "code" || name === ".text")!;
  const addressOf = (place: number) => code.address + Math.floor(place * code.size);

  function expectSameAnswers(object: (typeof PROGRAMS)[0]["object"], places: readonly number[]): void {
    const asked = new Symbolizer(object);
    for (let i = 0; i < 3; i++) asked.frames(addressOf(0));
    for (const address of places.map(addressOf))
      expect(new Symbolizer(object).frames(address)).toEqual(asked.frames(address));
  }

  it("is the one that it has later", () => {
    fc.assert(
      fc.property(fc.array(somewhere, { minLength: 1, maxLength: 8 }), (places) =>
        expectSameAnswers(object, places),
      ),
      { numRuns: 50 },
    );
  });

  it("is so in damaged debug information too", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.array(somewhere, { minLength: 1, maxLength: 4 }), (seed, places) =>
        expectSameAnswers(damaged(object, seed), places),
      ),
      { numRuns: 150 },
    );
  });
});
