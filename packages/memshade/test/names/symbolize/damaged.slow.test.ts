import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { loadObject } from "../../../src/names/load/objects.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";
import { npmModule } from "./support.ts";

const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!;
const bytes = new Uint8Array(readFileSync(MODULE));
const { sections, codeOffset } = loadObject(MODULE).object;
const debugSections = sections.filter(({ name }) => name.startsWith(".debug_"));
const codeSize = sections.find(({ offset }) => offset === codeOffset)!.size;

/** Checks the invariant of all answers, whatever the bytes are: frames, the last of them not inlined. */
function expectSaneFrames(symbolizer: Symbolizer, address: number): void {
  const frames = symbolizer.frames(address);
  expect(frames.length).toBeGreaterThan(0);
  expect(frames.map(({ inlined }) => inlined)).toEqual(frames.map((_, index) => index < frames.length - 1));
  for (const { line, column } of frames) expect(line >= 0 && column >= 0).toBe(true);
}

/** Address 0 belongs to a function that the linker removed. */
const addresses = Array.from({ length: 40 }, (_, index) => Math.floor((index * codeSize) / 40));

describe("damaged debug information", () => {
  it("still ends in frames, wherever bytes are changed", () => {
    const place = fc.nat(debugSections.length - 1).chain((index) => {
      const { offset, size } = debugSections[index]!;
      return fc.tuple(fc.integer({ min: offset, max: offset + size - 1 }), fc.nat(255));
    });
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 200 }), (changes) => {
        const damaged = bytes.slice();
        for (const [offset, value] of changes) damaged[offset] = value;
        const symbolizer = new Symbolizer(openObject(damaged));
        for (const address of addresses) expectSaneFrames(symbolizer, address);
      }),
      { numRuns: 60 },
    );
  });

  it("still ends in frames where sections end early", () => {
    fc.assert(
      fc.property(
        fc.nat(debugSections.length - 1),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (index, share) => {
          const { name } = debugSections[index]!;
          const whole = openObject(bytes);
          const object = new Proxy(whole, {
            get: (target, key) => {
              const value = Reflect.get(target, key, target) as unknown;
              if (key === "sectionInPieces") return () => undefined;
              if (key !== "section") return typeof value === "function" ? value.bind(target) : value;
              return (asked: string) => {
                const content = target.section(asked);
                return asked === name ? content?.subarray(0, Math.floor(share * content.length)) : content;
              };
            },
          });
          const symbolizer = new Symbolizer(object);
          for (const address of addresses) expectSaneFrames(symbolizer, address);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("falls back to the names of symbols where nothing of it is left", () => {
    const damaged = bytes.slice();
    for (const { offset, size } of debugSections) damaged.fill(0xff, offset, offset + size);
    const symbolizer = new Symbolizer(openObject(damaged));
    const intact = new Symbolizer(openObject(bytes));
    const outermost = (from: Symbolizer) =>
      addresses.slice(1).map((address) => from.frames(address).at(-1)!.function);
    expect(outermost(symbolizer)).toEqual(outermost(intact));
    expect(symbolizer.problems.length).toBeGreaterThan(0);
  });

  it("does not run for ever on tables that refer to themselves", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (pattern) => {
        const damaged = bytes.slice();
        for (const { offset, size } of debugSections)
          for (let at = 0; at < Math.min(size, 20_000); at++)
            damaged[offset + at] = pattern[at % pattern.length]!;
        const symbolizer = new Symbolizer(openObject(damaged));
        for (const address of addresses) expectSaneFrames(symbolizer, address);
      }),
      { numRuns: 40 },
    );
  });
});
