import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { FrameRules } from "../../../../src/explain/analyses/frames/frame-rules.ts";
import { heapFrame } from "../../../../src/explain/findings/places.ts";
import type { IndexIntoContextTable } from "../../../../src/profile/model/indices.ts";
import { siteFrameOfContext } from "../../../../src/profile/model/site-frame.ts";
import { loadHeap } from "../../../../src/runs/heap.ts";
import { canCompile, memshadeRun } from "../support/record.ts";

const SOURCE = fileURLToPath(new URL("../programs/layered.c", import.meta.url));

const PERL = "/usr/bin/perl";
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const CALLERS = [
  "calls_xmalloc",
  "calls_xcalloc",
  "calls_xrealloc",
  "calls_with_header",
  "calls_in_lines",
  "calls_aligned",
  "calls_or_failed",
  "calls_by_hook",
  "calls_copied",
  "calls_duplicated",
];
const REQUESTERS = ["make_node", "make_of_kind", "make_like", "reserve", "keep", "resize", "sum"];

/** Builds the program with these options, and returns the functions that name its sites. */
async function sitesOf(options: readonly string[]): Promise<string[]> {
  const folder = newFolder();
  const program = join(folder, "layered");
  const { status, stderr } = spawnSync("gcc", [...options, SOURCE, "-o", program], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return sitesOfRun(folder, [program]);
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "layers-"));
  folders.push(folder);
  return folder;
}

async function sitesOfRun(folder: string, command: readonly string[]): Promise<string[]> {
  const run = memshadeRun(folder, ["--quiet", "--out", "out", ...command]);
  expect(run.status, run.stderr).toBe(0);
  const { profile } = await loadHeap(join(folder, "out"), { rules: new FrameRules() });
  const names = Array.from({ length: profile.contexts.length }, (_, context) => {
    const frame = siteFrameOfContext(profile, context as IndexIntoContextTable);
    return frame === undefined ? "" : (heapFrame(profile, frame).function ?? "");
  });
  return [...new Set(names)].sort();
}

describe.skipIf(!canCompile)("layers of native programs", () => {
  it.each([
    ["without optimisation", ["-O0"]],
    ["optimised for speed", ["-O2"]],
    ["optimised for size", ["-Os"]],
    ["with a frame pointer", ["-O1", "-fno-omit-frame-pointer"]],
    ["stripped", ["-O2", "-s", "-rdynamic"]],
    ["bound to fixed addresses", ["-O2", "-no-pie", "-s", "-rdynamic"]],
    ["without stubs", ["-O2", "-fno-plt"]],
    ["with debug information", ["-O2", "-g"]],
  ])("are found in a program %s", { timeout: 120_000 }, async (_, options) => {
    expect(await sitesOf(options)).toEqual([...CALLERS, ...REQUESTERS].sort());
  });

  it.skipIf(!existsSync(PERL))("are found in perl, which is stripped", { timeout: 120_000 }, async () => {
    const sites = await sitesOfRun(newFolder(), [PERL, "-e", 'push @a, { key => "text $_" } for 1 .. 1000']);
    expect(sites).toContain("Perl_hv_common");
    expect(sites.filter((name) => /^Perl_(safesys|savepv)/.test(name))).toEqual([]);
  });
});
