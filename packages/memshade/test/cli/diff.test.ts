import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chosenSides } from "../../src/cli/chosen-run.ts";
import { type DiffOptions, runDiff } from "../../src/cli/diff/run-diff.ts";
import { parseGrowthLimit } from "../../src/explain/diff/growth-limit.ts";
import { measure } from "../../src/explain/measures/index.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { sharedPath } from "../shared-path.ts";

const terminal = { isTerminal: false, environment: {} };
const shared = sharedPath("fixtures/memprof/c-basic") ?? "";
const usual: DiffOptions = { by: measure("bytes"), group: "site", rows: 20, color: "never" };
let folder: string;
let older: string;
let newer: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
  older = writePicture(path.join(folder, "old"), heapPicture("main > parse  10 x 100  peak 4"));
  newer = writePicture(path.join(folder, "new"), heapPicture("main > parse  15 x 100  peak 4"));
});
afterAll(() => fs.rmSync(folder, { recursive: true }));

const both = () => ({ old: [older], new: [newer] });

describe("memshade diff", () => {
  it("compares two runs", async () => {
    const { text, exceeded } = await runDiff(both(), usual, terminal);
    expect(text).toMatch(/\+500 B +1,000 B +1.46 KiB +\+50.0 % {2}parse/);
    expect(exceeded).toEqual([]);
  });

  it("says which limits are exceeded", async () => {
    const failOn = ["bytes+50%", "count+4", "peak+0"].map(parseGrowthLimit);
    const { exceeded } = await runDiff(both(), { ...usual, failOn }, terminal);
    expect(exceeded).toEqual(["blocks grew from 10 to 15 (+50.0 %), more than count+4 allows"]);
  });

  it("has the same as JSON, with both sites", async () => {
    const { text } = await runDiff(both(), { ...usual, json: true }, terminal);
    expect(JSON.parse(text)).toMatchObject({
      schema: "memshade-diff",
      version: 2,
      old: older,
      new: newer,
      totals: { bytes: { old: 1000, new: 1500 }, peak: { old: 400, new: 400 } },
      rows: [
        {
          kind: "changed",
          change: 500,
          values: { blocks: { old: 10, new: 15 } },
          old: { allocCount: 10, stack: [{ function: "parse" }] },
          new: { allocCount: 15, stack: [{ function: "parse" }] },
        },
      ],
      rowsOmitted: 0,
      unchanged: 0,
    });
  });

  it("compares the medians of several runs, and says what is within their spread", async () => {
    const again = writePicture(path.join(folder, "again"), heapPicture("main > parse  12 x 100  peak 4"));
    const several = { old: [older, again], new: [newer, again] };
    const { text, exceeded } = await runDiff(
      several,
      { ...usual, failOn: [parseGrowthLimit("bytes+1%")] },
      terminal,
    );
    expect(text).toContain("0 sites changed, 1 within the spread, 0 did not");
    expect(text).toContain("old  median of 2: ");
    expect(text).toMatch(/\+250 B +1.07 KiB +± 9 % +1.32 KiB +± 11 % +~ {2}parse/);
    expect(exceeded).toEqual([]);
    const json = await runDiff(several, { ...usual, json: true }, terminal);
    expect(JSON.parse(json.text)).toMatchObject({
      old: several.old.join(","),
      runs: several,
      totals: {
        bytes: {
          old: 1100,
          new: 1350,
          oldRange: [1000, 1200],
          newRange: [1200, 1500],
          isWithinSpread: true,
        },
      },
      rows: [{ change: 250, values: { bytes: { oldRange: [1000, 1200], isWithinSpread: true } } }],
    });
  });

  it("takes several runs a side with commas between them, and files with commas in their names", async () => {
    expect(await chosenSides(`${older},${newer}`, newer)).toEqual({ old: [older, newer], new: [newer] });
    const odd = path.join(folder, "a,b");
    fs.mkdirSync(odd);
    expect(await chosenSides(odd, newer)).toEqual({ old: [odd], new: [newer] });
    await expect(chosenSides(`${older},`, newer)).rejects.toThrow("before or after a comma");
  });

  it("says what two profiles do not both know", async () => {
    const raw = path.join(folder, "alone.memprofraw");
    fs.copyFileSync(path.join(newer, "heap.memprofraw"), raw);
    await expect(
      runDiff({ old: [older], new: [raw] }, { ...usual, by: measure("peak") }, terminal),
    ).rejects.toThrow("--by peak is not known in both");
  });

  it.skipIf(shared === "")("takes native profiles of any kind, named through their program", async () => {
    const compared = await runDiff(
      { old: [path.join(shared, "v4.memprofraw")], new: [path.join(shared, "v4.v4.full.yaml")] },
      { ...usual, binaryPath: [path.join(shared, "v4.exe")] },
      terminal,
    );
    // LLVM's formats lack the blocks that libraries allocate for themselves.
    expect(compared.text).toMatch(/2 sites changed, [1-9]/);
    expect(compared.text.replace(/\s+/g, " ")).toContain(
      "New: Blocks allocated only by code without debug information",
    );
  });
});
