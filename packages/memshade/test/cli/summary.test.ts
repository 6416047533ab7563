import { closeSync, ftruncateSync, mkdtempSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { summaryLines } from "../../src/cli/summary.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

const folder = mkdtempSync(path.join(tmpdir(), "memshade-test-summary-"));

const NO_FINDINGS = "no findings among blocks";

const LEAKS = "main > parse  100 x 1000  peak 100  live 100";

function runWith(name: string, moduleBytes: number, picture = LEAKS): string {
  const { run, raw } = heapPicture(picture);
  const module = path.join(folder, `${name}.wasm`);
  const file = openSync(module, "w");
  ftruncateSync(file, moduleBytes);
  closeSync(file);
  run.modules[0]!.path = module;
  return writePicture(path.join(folder, name), { run, raw });
}

describe("the findings at the end of a run", () => {
  it("are told of a small one", async () => {
    expect(await summaryLines(runWith("small", 1000))).toEqual([
      expect.stringMatching(/^leak .* of parse.*\n {2}→ Release the blocks/),
      expect.stringMatching(/^details: memshade report \S+small; meaning: memshade explain leak$/),
    ]);
  });

  it("are told to be none with what is live all the same, which may be an object that was forgotten", async () => {
    const linesOf = (blocks: string) => summaryLines(runWith("one", 1000, `main > open  ${blocks}`));
    expect(await linesOf("9 x 3000  life 99  access 9  peak 1  live 1")).toEqual([
      NO_FINDINGS,
      expect.stringMatching(/^2\.93 KiB in 1 block is live at the end: memshade top \S+one --by left$/),
    ]);
    expect(await linesOf("9 x 1000  life 99  access 9  peak 1  live 1")).toEqual([NO_FINDINGS]);
  });

  it("name the tool that finds more where many loads repeat others, or used memory is filled again", async () => {
    const { run, raw } = heapPicture("main > open  9 x 1000  life 99  access 9  peak 1");
    const linesWith = (totals: object) => {
      const told = {
        ...run,
        heap: { ...run.heap!, heapAccesses: 900_000, otherAccesses: 100_000, ...totals },
      };
      return summaryLines(writePicture(mkdtempSync(path.join(folder, "hint-")), { run: told, raw }));
    };
    expect((await linesWith({ repeatedLoads: 400_000 }))[0]).toBe(
      `${NO_FINDINGS}; 400,000 of 1.00 M accesses load an address again in a loop: --tool waste tells which find the same value`,
    );
    expect((await linesWith({ filledBytes: 409_600 }))[0]).toBe(
      `${NO_FINDINGS}; 400 KiB are filled with one value: --tool waste tells which are overwritten before any read`,
    );
    expect((await linesWith({ repeatedLoads: 100_000, filledBytes: 102_400 }))[0]).toBe(NO_FINDINGS);
  });

  it("never go without a word: of a large one the line says that there may be some, and has the command that shows them", async () => {
    const run = runWith("large one", 25 * 2 ** 20);
    const [line, ...others] = await summaryLines(run);
    expect(line).toMatch(
      /^findings were not searched \(reading 25\.0 MiB of profile and modules takes a while\); to search them: memshade report '.*large one'$/,
    );
    expect(others).toEqual([]);
  });
});
