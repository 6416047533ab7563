import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { frameName } from "../../../src/explain/analyses/frames/frame-name.ts";
import type { IndexIntoFrameTable } from "../../../src/profile/model/indices.ts";
import { loadHeap } from "../../../src/runs/heap.ts";
import { MAIN } from "../../command.ts";

const SOURCES = fileURLToPath(new URL("programs", import.meta.url));
const canCompile =
  process.platform === "linux" &&
  process.arch === "x64" &&
  spawnSync("gcc", ["--version"], { stdio: "ignore" }).status === 0;
if (!canCompile)
  console.warn("SKIPPED: gcc for x86-64 Linux is not installed: no native program is recorded");

describe.skipIf(!canCompile)("objects of unusual form", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-unusual-"));
  const program = join(folder, "program");
  const out = join(folder, "run");
  afterAll(() => rmSync(folder, { recursive: true }));

  async function recorded(options: readonly string[]) {
    const source = join(SOURCES, "several.c");
    spawnSync("gcc", ["-O1", "-fno-inline", "-pthread", ...options, source, "-o", program], {
      stdio: "inherit",
    });
    const { status } = spawnSync(process.execPath, [MAIN, "run", "--quiet", "--out", out, program]);
    expect(status).toBe(7);
    return (await loadHeap(out)).profile;
  }

  for (const [what, options] of [
    ["without a build id", ["-Wl,--build-id=none"]],
    ["with gaps between its segments", ["-no-pie", "-Wl,-z,max-page-size=0x200000"]],
    ["with gaps between its segments, at any address", ["-pie", "-Wl,-z,max-page-size=0x200000"]],
  ] as const)
    it(`a program ${what} has whole stacks, with names`, async () => {
      const profile = await recorded(options);
      expect(profile.description.notTracked.join(" ")).not.toContain("incomplete call path");
      const { contexts, stacks } = profile;
      const names = Array.from(contexts.stack, (stack) =>
        frameName(profile, stacks.frame[stack]! as IndexIntoFrameTable),
      );
      expect(names.filter((name) => name === "lost_block").length).toBeGreaterThan(1);
    });

  it("a program without any names has its functions by where they begin, and is told what brings names", async () => {
    const profile = await recorded(["-s"]);
    const { frames, functions, modules, description } = profile;
    const own = Array.from({ length: frames.length }, (_, i) => i as IndexIntoFrameTable).filter(
      (frame) => modules[functions.module[frames.function[frame]!]!]?.name === "program",
    );
    const names = own.map((frame) => frameName(profile, frame));
    for (const name of names) expect(name).toMatch(/^\[program\]\+0x[0-9a-f]+$/);
    // Worked out by hand: lost_block, worker, main and _start; only main has several call sites.
    expect(new Set(names).size).toBe(4);
    expect(names.length).toBeGreaterThan(5);
    const starts = own.map((frame) => functions.wasmIndex[frames.function[frame]!]!);
    const code = readFileSync(program);
    // Each function begins with endbr64, a push, or a move of its argument.
    for (const start of starts) expect([0x31, 0x41, 0x48, 0x53, 0x55, 0xf3]).toContain(code[start]);
    expect(description.notTracked.join(" ")).toContain(`${program} has no function names for`);
  });
});
