import { describe, expect, it } from "vitest";
import { kindOfContent } from "../../src/runs/other-heaps.ts";

const kindOf = (text: string) => kindOfContent(new TextEncoder().encode(text));

describe("a file that is no heap profile", () => {
  it.each([
    ["desc: --time-unit=B\ncmd: ./a\ntime_unit: B\n", /massif.*--tool=dhat/],
    ["==12==ERROR: LeakSanitizer: detected memory leaks\n", /LeakSanitizer.*records a profile/],
    [`\n${"=".repeat(65)}\n==12==ERROR: LeakSanitizer: detected memory leaks\n`, /LeakSanitizer/],
    ['{"snapshot":{"meta":{"node_fields":[]}}}', /heap snapshot or timeline of V8.*memshade node/],
    ['{"head":{"callFrame":{}}}', /sampled heap profile of V8/],
    ['{\n  "schema": "memshade-working-set",\n "version": 1', /the workingset\.json of a run/],
    ['{"schema":"memshade-run"', /the run\.json of a run/],
    ['{"schema":"memshade-statics"', /the statics\.json of a run: name the folder/],
    ['{"schema":"memshade-report","version":1', /printed as JSON \(memshade-report\)/],
    ['{"command":"./a","stores":[],"loads":[]}', /waste-print/],
    ['{"traceEvents":[]}', /trace of Chromium/],
    ["--- contention\ncycles/second = 1\n", /something else than the heap/],
    ["[1, 2]", /some other JSON/],
    ["", /empty/],
  ])("is named by what it begins with: %j", (text, kind) => {
    expect(kindOf(text)).toMatch(kind);
  });

  it("is called nothing where nothing is known of it", () => {
    expect(kindOf("anything")).toBeUndefined();
  });
});
