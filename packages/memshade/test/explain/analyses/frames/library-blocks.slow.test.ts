import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FrameRules } from "../../../../src/explain/analyses/frames/frame-rules.ts";
import { libraryKeeps } from "../../../../src/explain/analyses/frames/library-blocks.ts";
import { keptByLibrary } from "../../../../src/explain/analyses/live-blocks.ts";
import { heapFrame } from "../../../../src/explain/findings/places.ts";
import { runFindings } from "../../../../src/explain/findings/run-findings.ts";
import type { IndexIntoContextTable } from "../../../../src/profile/model/indices.ts";
import { siteFrameOfContext } from "../../../../src/profile/model/site-frame.ts";
import { loadHeap } from "../../../../src/runs/heap.ts";
import { canCompile, compileProgram, memshade, memshadeRun } from "../../../record/native/support/record.ts";

const folder = mkdtempSync(join(tmpdir(), "library-blocks-"));

afterAll(() => rmSync(folder, { recursive: true }));

const KEPT = [
  "compiles_expression",
  "converts_text",
  "forgets_folder",
  "looks_up",
  "opens_files",
  "opens_folder",
  "prints",
  "registers",
  "sets_environment",
  "sets_locale",
  "sorts",
  "starts_threads",
];
const GIVEN = ["duplicates", "finds_path", "formats"];

describe.skipIf(!canCompile)("a program that makes the C library keep blocks", { timeout: 240_000 }, () => {
  it("has no findings about them, but for those that it has lost", async () => {
    compileProgram("library-keeps.c", join(folder, "library-keeps"), ["-w"]);
    const run = memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", "out", "./library-keeps"]);
    expect(run.status, run.stderr).toBe(0);
    const { profile } = await loadHeap(join(folder, "out"), { rules: new FrameRules() });
    const sites = { kept: new Set<string>(), given: new Set<string>() };
    const isKept = libraryKeeps(profile);
    for (let context = 0; context < profile.contexts.length; context++) {
      const frame = siteFrameOfContext(profile, context as IndexIntoContextTable);
      const name = frame === undefined ? "" : (heapFrame(profile, frame).function ?? "");
      (isKept(context) ? sites.kept : sites.given).add(name);
    }
    expect([...sites.kept]).toEqual(expect.arrayContaining(KEPT));
    expect([...sites.given]).toEqual(expect.arrayContaining(GIVEN));
    expect(GIVEN.filter((name) => sites.kept.has(name))).toEqual([]);

    const found = runFindings({ heap: profile }).map(({ kind, place }) => [kind, place.path[0]!.function]);
    expect(found).toEqual([["leak", "forgets_folder"]]);

    const { totalBytes } = keptByLibrary(profile)!;
    expect(totalBytes).toBeGreaterThan(100_000);
    const report = memshade(folder, ["report", "out"]);
    expect(report.stdout).toMatch(/^ {2}The C library keeps [\d.]+ KiB in [\d,]+ blocks of these$/m);
    const sections = report.stdout.split(/^Kept after the last use/m)[1] ?? "";
    expect(sections).not.toMatch(/via (setlocale|_IO_getc|hcreate_r)/);
  });
});
