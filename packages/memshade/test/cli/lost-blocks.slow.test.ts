import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunHeap } from "../../src/profile/model/run.ts";
import { memshade, newFolder, readRun } from "./support/command-line.ts";
import { ALLOCATOR, writeProgram } from "./support/programs.ts";

const PLANTED = new URL("../fixtures/planted/", import.meta.url).pathname;

async function heapOf(folder: string, ...words: string[]): Promise<RunHeap> {
  await memshade(["run", "--out", "here", ...words], { cwd: folder });
  return readRun(join(folder, "here")).heap!;
}

/** Checks that the four kinds add up to the live blocks, in total and for each context. */
function expectComplete({ reach, sites, liveBlocks, liveBytes }: RunHeap): void {
  const { lostBlocks, indirectlyLostBlocks, possiblyLostBlocks, stillReachableBlocks } = reach!;
  expect(lostBlocks + indirectlyLostBlocks + possiblyLostBlocks + stillReachableBlocks).toBe(liveBlocks);
  expect(
    reach!.lostBytes + reach!.indirectlyLostBytes + reach!.possiblyLostBytes + reach!.stillReachableBytes,
  ).toBe(liveBytes);
  for (const site of sites)
    expect(
      (site.lostBlocks ?? 0) +
        (site.indirectlyLostBlocks ?? 0) +
        (site.possiblyLostBlocks ?? 0) +
        (site.stillReachableBlocks ?? 0),
    ).toBe(site.liveBlocks);
}

describe("live blocks at the end of a run", () => {
  it("are lost where a C program dropped them, and reachable where it keeps a table", async () => {
    const folder = newFolder();
    copyFileSync(join(PLANTED, "c/lost-settings.wasm"), join(folder, "lost.wasm"));
    const lost = await heapOf(folder, "lost.wasm");
    expectComplete(lost);
    expect(lost.reach).toMatchObject({ lostBlocks: 200, stillReachableBlocks: 0, hostMayHold: false });
    copyFileSync(join(PLANTED, "c/growing-sessions.wasm"), join(folder, "kept.wasm"));
    const kept = await heapOf(folder, "kept.wasm");
    expectComplete(kept);
    expect(kept.reach).toMatchObject({ lostBlocks: 0, stillReachableBlocks: 3000 });
  });

  it("are idle where a table is only filled; the work that comes after the last allocation is told", async () => {
    const folder = newFolder();
    copyFileSync(join(PLANTED, "c/growing-sessions.wasm"), join(folder, "kept.wasm"));
    const kept = await heapOf(folder, "kept.wasm");
    // The last checks are a few of the 3,000 visitors before the end, and each visitor walks along one of 256 lists.
    expect(kept.sites.reduce((sum, site) => sum + (site.idleReachableBlocks ?? 0), 0)).toBeGreaterThan(1500);
    expect(kept.reach!.accessesAfter).toBeLessThan(kept.otherAccesses / 4);
    const accesses = (count: number) => `(module (memory (export "memory") 2) ${ALLOCATOR}
      (data (i32.const 1024) "\\01\\02\\03\\04")
      (global $kept (mut i32) (i32.const 0))
      (func (export "_start") (local $i i32)
        (global.set $kept (call $malloc (i32.const 8)))
        (loop $more
          (drop (i32.load (i32.const 1024)))
          (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const ${count}))))))`;
    const after = async (count: number) => {
      writeProgram(folder, "works.wasm", accesses(count));
      return (await heapOf(folder, "works.wasm")).reach!.accessesAfter!;
    };
    expect((await after(1000)) - (await after(10))).toBe(990);
  });

  it("are possibly lost where a trap left functions in the middle", async () => {
    const folder = newFolder();
    const body = (end: string) => `(module (memory (export "memory") 2) ${ALLOCATOR}
      (global $kept (mut i32) (i32.const 0))
      (func (export "_start")
        (drop (call $malloc (i32.const 24)))
        (global.set $kept (call $malloc (i32.const 8))) ${end}))`;
    writeProgram(folder, "ends.wasm", body(""));
    writeProgram(folder, "traps.wasm", body("unreachable"));
    const ended = await heapOf(folder, "ends.wasm");
    expect(ended.reach).toMatchObject({ lostBytes: 24, stillReachableBytes: 8, possiblyLostBytes: 0 });
    const trapped = await heapOf(folder, "traps.wasm");
    expect(trapped.reach).toMatchObject({ lostBytes: 0, stillReachableBytes: 8, possiblyLostBytes: 24 });
    expect(trapped.notTracked).toContainEqual(
      expect.stringMatching(/^1 block is counted as possibly lost because /),
    );
  });

  it("are suppressed for report and top, each with its reason; what is no suppression is said in one line", async () => {
    const folder = newFolder();
    copyFileSync(join(PLANTED, "c/lost-settings.wasm"), join(folder, "lost.wasm"));
    await heapOf(folder, "lost.wasm");
    writeFileSync(join(folder, "known.supp"), "# read once\nleak:read_settings\n");
    const suppressed = ["--suppressions", "known.supp"];
    const report = await memshade(["report", "here", ...suppressed], { cwd: folder });
    expect(report.stdout).toMatch(/suppressed by\s+"leak:read_settings"\s+\(known.supp:2\):\s+read\s+once/);
    expect(report.stdout).not.toMatch(/^ {2}leak /m);
    const top = await memshade(["top", "here", "--by", "lost", ...suppressed], { cwd: folder });
    expect(top.stdout).toContain("no site has bytes lost at the end");
    writeFileSync(join(folder, "known.supp"), "leek:read_settings\nwhat\n");
    const refused = await memshade(["report", "here", ...suppressed], { cwd: folder });
    expect([refused.code, refused.stderr]).toEqual([
      2,
      'memshade: known.supp:2: neither "{" nor leak:PATTERN: "what"\n',
    ]);
  });
});
