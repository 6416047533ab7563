import { describe, expect, it } from "vitest";
import { runFindings } from "../../../../../src/explain/findings/run-findings.ts";
import { objectsReportJson } from "../../../../../src/show/report/json/objects.ts";
import { jsonText } from "../../../../../src/show/report/json/text.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { objectsReport } from "../../../../../src/show/report/terminal/objects/objects-report.ts";
import { someObjects } from "../../../../objects-picture.ts";

const SCREEN = { paint: createPaint(false), width: 80, isWide: false, rows: undefined, input: "run" };

describe("the report of objects", () => {
  const profile = someObjects();
  const text = objectsReport(profile, { ...SCREEN, findings: runFindings({ objects: profile }) });

  it("says first what was not seen, and that sizes are a model", () => {
    expect(text).toMatch(/Read this first\n {2}· app.wasm: one thing was not seen/);
    expect(text).toContain("Sizes are those of a model of V8, not measured");
  });

  it("fits 80 columns", () => {
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("marks what is estimated, with its error", () => {
    expect(text).toMatch(/in use +≈7.81 KiB {2}± 7.80 KiB: an estimate by 2 objects/);
  });

  it("ranks what nobody reads", () => {
    expect(text).toContain("Node.debugName: 4 B in 1,000 objects, never read");
    expect(text).toMatch(/Types that are never read.*\n +4.02 KiB {2}Text: 10 objects, never read/);
    expect(text).toMatch(/unread-field +3.91 KiB {2}in Node.debugName \(4 B in 1,000 objects\), never read/);
  });

  it("leaves the name of a field whole where there is little room", () => {
    const narrow = objectsReport(profile, {
      ...SCREEN,
      width: 60,
      findings: runFindings({ objects: profile }),
    });
    expect(narrow).toMatch(/unread-field +3.91 KiB {2}in Node.debugName never read$/m);
  });

  it("says why nothing is known of what stays, and of when it was made", () => {
    const parts = profile.parts.map((part) => {
      const samples = { ...part.samples };
      for (const column of ["site", "size", "weight", "birth", "death", "context", "host", "now"] as const)
        samples[column] = [];
      return { ...part, samples: { ...samples, unknown: [] }, overTime: undefined };
    });
    const none = { ...profile, parts, sampleBytes: 0 };
    const unwrapped = (of: typeof profile) => objectsReport(of, SCREEN).replaceAll(/\s+/g, " ");
    expect(unwrapped(none)).toContain(
      "No object was followed (--sample-bytes 0): what is in use, and what was made over time, are not known.",
    );
    expect(unwrapped({ ...none, sampleBytes: 2 ** 19 })).toContain(
      "No object was followed, as one in 512 KiB is (--sample-bytes): what is in use is not known.",
    );
  });

  it("names sites with their lines and callers", () => {
    expect(text).toMatch(/make \(tree.kt:7\)\n +Node ← main/);
  });

  it("says the same as JSON", () => {
    const json = JSON.parse(jsonText(objectsReportJson(profile, { input: "run" })));
    expect(json.totals).toEqual({ objects: 1010, bytes: 20_120, types: 2, sites: 2 });
    expect(json.parts[0].types[0].inUse).toMatchObject({ bytes: 8000, objects: 500, followed: 1 });
    expect(json.unreadFields[0]).toMatchObject({
      name: "Node.debugName",
      each: 4,
      objects: 1000,
      written: false,
    });
    expect(json.unreadTypes[0]).toMatchObject({ name: "Text" });
  });
});
