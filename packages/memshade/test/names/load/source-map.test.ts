import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { readSourceMap } from "../../../src/names/load/symbolizer.ts";

describe("a source map", () => {
  // The first line of main.ts from 0, no line from 10, line 5 of the compiler's library from 20.
  const map = { version: 3, sources: ["main.ts", "~lib/array.ts"], names: [], mappings: "AAAA,U,UCIA" };
  const placeAt = readSourceMap(new TextEncoder().encode(JSON.stringify(map)))!;

  it("tells the place of an offset", () => {
    expect(placeAt(5)).toEqual({ file: "main.ts", line: 1, column: 1 });
  });

  it("tells the nearest earlier place of the function where an offset has none, and says so", () => {
    expect(placeAt(12, 0)).toEqual({ file: "main.ts", line: 1, column: 1, approximate: true });
    expect(placeAt(12, 11)).toBeUndefined();
    expect(placeAt(12)).toBeUndefined();
  });

  it("tells the program's own place before one of the compiler's library, into which that may be inlined", () => {
    const ofLibrary = { file: "~lib/array.ts", line: 5, column: 1 };
    const outer = { file: "main.ts", line: 1, column: 1, approximate: true };
    expect(placeAt(25, 0)).toEqual({ ...ofLibrary, outer });
    expect(placeAt(25, 15)).toEqual(ofLibrary);
  });
});

const asBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function faultOf(map: unknown): string {
  try {
    readSourceMap(asBytes(typeof map === "string" ? map : JSON.stringify(map)));
  } catch (error) {
    if (error instanceof FormatError) return error.detail;
    throw error;
  }
  return "none";
}

describe("a damaged source map", () => {
  const plain = { version: 3, sources: ["a.ts"], names: [], mappings: "AAAA" };
  const section = { offset: { line: 0, column: 0 }, map: plain };

  it.each<[string, unknown, string]>([
    ["mappings that are a number", { ...plain, mappings: 5 }, "its mappings are no text"],
    ["mappings that are lists", { ...plain, mappings: [[5]] }, "its mappings are no text"],
    ["mappings of other characters", { ...plain, mappings: "A!" }, "its mappings cannot be read"],
    ["a number without an end", { ...plain, mappings: "zzzzzzzzzzzz" }, "its mappings cannot be read"],
    ["a place of two numbers", { ...plain, mappings: "AA" }, "its mappings cannot be read"],
    ["an ignoreList that is a number", { ...plain, ignoreList: 5 }, "its ignoreList is no list of sources"],
    ["sources that are a number", { ...plain, sources: 5 }, "its sources are no list of paths"],
    ["a source that is an object", { ...plain, sources: [{}] }, "its sources are no list of paths"],
    ["a sourceRoot that is a number", { ...plain, sourceRoot: 5 }, "its sourceRoot is no path"],
    ["names that are a number", { ...plain, names: 5 }, "its names are no list of names"],
    ["nothing in it", {}, "its mappings are no text"],
    ["a list in its place", [[5]], "it is no object"],
    ["null in its place", "null", "it is no object"],
    ["no bytes", "", "it is not JSON"],
    ["other text in its place", "<html>", "it is not JSON"],
    ["sections that are a number", { version: 3, sections: 5 }, "its sections are no list of maps"],
    ["a section that is null", { version: 3, sections: [null] }, "a section has no offset"],
    ["a section without a map", { version: 3, sections: [{ ...section, map: 5 }] }, "it is no object"],
  ])("with %s is told", (_, map, fault) => {
    expect(faultOf(map)).toBe(fault);
  });

  it("ends in a result or in one typed error, whatever it has", () => {
    const json = fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown);
    const strange = fc.record(
      {
        version: fc.oneof(fc.constant(3), json),
        sources: fc.oneof(fc.array(fc.string()), json),
        names: fc.oneof(fc.array(fc.string()), json),
        mappings: fc.oneof(fc.stringMatching(/^[A-Za-z0-9+/,;]{0,40}$/), json),
        ignoreList: fc.oneof(fc.array(fc.nat(3)), json),
        sourceRoot: fc.oneof(fc.string(), json),
      },
      { requiredKeys: [] },
    );
    const sections = fc.record({
      sections: fc.array(
        fc.record({
          offset: fc.oneof(fc.constant({ line: 0, column: 4 }), json),
          map: fc.oneof(strange, json),
        }),
      ),
    });
    let readable = 0;
    fc.assert(
      fc.property(fc.oneof(strange, sections, json), fc.nat(100), (map, offset) => {
        try {
          readSourceMap(asBytes(JSON.stringify(map)))(offset, 0);
          readable++;
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
        }
      }),
      { numRuns: 500 },
    );
    expect(readable).toBeGreaterThan(10);
  });
});

describe("an indexed source map", () => {
  it("has the places of its sections behind one another", () => {
    const one = (file: string) => ({ version: 3, sources: [file], names: [], mappings: "AAAA,KACA" });
    const sections = ["a.ts", "b.ts"].map((file, index) => ({
      offset: { line: 0, column: 100 * index },
      map: one(file),
    }));
    const placeAt = readSourceMap(asBytes(JSON.stringify({ version: 3, sections })));
    expect([0, 7, 100, 107].map((offset) => placeAt(offset))).toEqual([
      { file: "a.ts", line: 1, column: 1 },
      { file: "a.ts", line: 2, column: 1 },
      { file: "b.ts", line: 1, column: 1 },
      { file: "b.ts", line: 2, column: 1 },
    ]);
  });

  it("has nothing of sections on other lines, as a module is one line", () => {
    const sections = [
      { offset: { line: 1, column: 0 }, map: { version: 3, sources: ["a"], names: [], mappings: "AAAA" } },
    ];
    expect(readSourceMap(asBytes(JSON.stringify({ version: 3, sections })))(5)).toBeUndefined();
  });
});
