import { describe, expect, it } from "vitest";
import { readSourceMap } from "../../src/load/source-map.ts";

describe("a source map", () => {
  // At 0 the first line of main.ts, from 10 on no line, at 20 line 5 of the compiler's library.
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
