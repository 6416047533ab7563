import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseGrowthLimit } from "../../src/analyses/diff/growth-limit.ts";
import { type DiffOptions, runDiff } from "../../src/cli/commands/diff.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { sharedPath } from "../shared-path.ts";

const terminal = { isTerminal: false, environment: {} };
const shared = sharedPath("fixtures/memprof/c-basic") ?? "";
const usual: DiffOptions = { by: "bytes", group: "site", rows: 20, color: "never" };
let folder: string;
let older: string;
let newer: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
  older = writePicture(path.join(folder, "old"), heapPicture("main > parse  10 x 100  peak 4"));
  newer = writePicture(path.join(folder, "new"), heapPicture("main > parse  15 x 100  peak 4"));
});
afterAll(() => fs.rmSync(folder, { recursive: true }));

describe("memshade diff", () => {
  it("compares two runs", async () => {
    const { text, exceeded } = await runDiff(older, newer, usual, terminal);
    expect(text).toMatch(/\+500 B +1000 B +1.46 KiB +\+50.0 % {2}parse/);
    expect(exceeded).toEqual([]);
  });

  it("says which limits are exceeded", async () => {
    const failOn = ["bytes+50%", "count+4", "peak+0"].map(parseGrowthLimit);
    const { exceeded } = await runDiff(older, newer, { ...usual, failOn }, terminal);
    expect(exceeded).toEqual(["count grew from 10 to 15 (+50.0 %), more than count+4 allows"]);
  });

  it("has the same as JSON, with both sites", async () => {
    const { text } = await runDiff(older, newer, { ...usual, json: true }, terminal);
    expect(JSON.parse(text)).toMatchObject({
      schema: "memshade-diff",
      version: 1,
      old: older,
      new: newer,
      totals: { bytes: { old: 1000, new: 1500 }, peak: { old: 400, new: 400 } },
      rows: [
        {
          kind: "changed",
          change: 500,
          values: { count: { old: 10, new: 15 } },
          old: { allocCount: 10, stack: [{ function: "parse" }] },
          new: { allocCount: 15, stack: [{ function: "parse" }] },
        },
      ],
      rowsOmitted: 0,
      unchanged: 0,
    });
  });

  it("says what two profiles do not both know", async () => {
    const raw = path.join(folder, "alone.memprofraw");
    fs.copyFileSync(path.join(newer, "heap.memprofraw"), raw);
    await expect(runDiff(older, raw, { ...usual, by: "peak" }, terminal)).rejects.toThrow(
      "--by peak is not known in both",
    );
  });

  it.skipIf(shared === "")("takes native profiles of any kind, named through their program", async () => {
    const compared = await runDiff(
      path.join(shared, "v4.memprofraw"),
      path.join(shared, "v4.v4.full.yaml"),
      { ...usual, binaryPath: [path.join(shared, "v4.exe")] },
      terminal,
    );
    // LLVM's forms lack the blocks that libraries have for themselves.
    expect(compared.text).toMatch(/2 sites changed, [1-9]/);
    expect(compared.text.replace(/\s+/g, " ")).toContain("New: Blocks that no code with debug information");
  });
});
