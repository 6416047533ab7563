import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { isDhat, readDhat } from "../../../../src/profile/formats/dhat.ts";
import { framesOfContext } from "../../../../src/profile/model/stacks.ts";

const FILE = fileURLToPath(new URL("../../../fixtures/imports/small.dhat.json", import.meta.url));
const TEXT = readFileSync(FILE, "utf8");

function failure(text: string): FormatError {
  try {
    readDhat(text);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return error as FormatError;
  }
  throw new Error("was read");
}

describe("a file of DHAT", () => {
  it("is what Valgrind says that it is", () => {
    const { contexts, description } = readDhat(TEXT);
    expect(isDhat(TEXT)).toBe(true);
    // Totals from the last lines of Valgrind's output.
    expect(description.totals).toMatchObject({
      allocations: 56,
      allocatedBytes: 47_696,
      frees: 52,
      peakBytes: 40_400,
      peakBlocks: 5,
      liveBytes: 400,
      liveBlocks: 4,
    });
    const sum = (column: Float64Array) => column.reduce((total, bytes) => total + bytes, 0);
    expect(sum(contexts.site!.readBytes!)).toBe(3);
    expect(description).toMatchObject({
      program: "small",
      importedFrom: "DHAT",
      clock: { unit: "instructions" },
    });
    expect(description.unknownFields).toContain("totalAccessCount");
    expect(description.unknownSiteFields).toContain("neverAccessed");
    expect(description.unknownSiteFields).not.toContain("peakBytes");
  });

  it("has call paths without the profiler's own functions", () => {
    const profile = readDhat(TEXT);
    const { frames, functions, strings } = profile;
    const path = framesOfContext(profile, 0 as never).map(
      (frame) =>
        `${strings[functions.name[frames.function[frame]!]!]} ${strings[frames.file[frame]!]}:${frames.line[frame]}`,
    );
    expect(path).toEqual(["make small.c:9", "leak small.c:14", "main small.c:28"]);
  });

  it("says what it has not recorded", () => {
    const file = JSON.parse(TEXT);
    file.bklt = false;
    file.bkacc = false;
    for (const point of file.pps)
      for (const key of Object.keys(point)) if (!/^(tb|tbk|fs)$/.test(key)) delete point[key];
    const { description, contexts } = readDhat(JSON.stringify(file));
    expect(description.totals).toMatchObject({
      allocatedBytes: 47_696,
      peakBytes: undefined,
      liveBytes: undefined,
    });
    expect(description.unknownFields).toContain("totalLifetime");
    expect(description.unknownSiteFields).toContain("liveBytes");
    expect(contexts.site?.readBytes).toBeUndefined();
  });

  it("of another version or mode is refused", () => {
    expect(failure(TEXT.replace('"dhatFileVersion":2', '"dhatFileVersion":1')).kind).toBe(
      "unsupported-version",
    );
    expect(failure(TEXT.replace('"mode":"heap"', '"mode":"ad-hoc"'))).toMatchObject({
      kind: "unsupported",
      detail: 'it has no heap: it was made in the mode "ad-hoc"',
    });
    expect(readDhat(TEXT.replace('"mode":"heap"', '"mode":"rust-heap"')).contexts.length).toBe(7);
  });

  it("that is cut off or damaged ends in one error, wherever that is", () => {
    for (let end = 1; end < TEXT.trimEnd().length; end += 7)
      expect(failure(TEXT.slice(0, end))).toMatchObject({ kind: "truncated", offset: end });
    expect(failure(TEXT.replace('"tb":100', '"tb":-1')).message).toMatch(/pps\[0\]\.tb should be a count/);
    expect(failure(TEXT.replace('"fs":[1', '"fs":[999')).message).toMatch(/pps\[0\]\.fs names a frame/);
    expect(failure(TEXT.replace(',"eb":100', "")).message).toMatch(/pps\[0\]\.eb is missing/);
    expect(failure(TEXT.replace('"pps"', '"ppt"')).kind).toBe("malformed");
  });
});
