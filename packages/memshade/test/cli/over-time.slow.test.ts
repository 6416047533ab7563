import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MAIN } from "../command.ts";
import { wat } from "../support/assemble.ts";
import { BUMP } from "../support/profiled.ts";

/**
 * Allocates 40 blocks of 1,000 bytes, writes and reads each at once, keeps or loses it, and never uses it again; then works with small
 * blocks.
 */
const program = (keep: string) =>
  wat(`(module
  (memory (export "memory") 8)
  ${BUMP}
  (data (i32.const 1024) "kept")
  (func $load (param $n i32) (local $block i32)
    (loop $more
      (memory.fill (local.tee $block (call $malloc (i32.const 1000))) (i32.const 1) (i32.const 1000))
      ${keep}
      (drop (i32.load (local.get $block)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $work (param $n i32) (local $block i32)
    (loop $more
      (i32.store (local.tee $block (call $malloc (i32.const 8))) (i32.load (i32.const 64)))
      (drop (i32.load (local.get $block)))
      (call $free (local.get $block))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "_start") (call $load (i32.const 40)) (call $work (i32.const 2000))))`);

const KEEP =
  "(i32.store (i32.add (i32.const 1024) (i32.shl (local.get $n) (i32.const 2))) (local.get $block))";

describe("a program that keeps what it does not use", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-over-time-"));
  writeFileSync(join(folder, "keeper.wasm"), program(KEEP));
  const memshade = (...words: string[]) =>
    spawnSync(process.execPath, [MAIN, ...words], { cwd: folder, encoding: "utf8" });
  const run = memshade("run", "--out", "run", "keeper.wasm");

  it("has its heap over time drawn, its phases named, and a finding", () => {
    expect(run.status).toBe(0);
    const { stdout } = memshade("report", "run");
    expect(stdout).toMatch(
      /^ {2}drag +39\.1 KiB {2}40 blocks of load .* are idle for the last \d+ % of their life$/m,
    );
    expect(stdout).toMatch(/^Over time +\d+ intervals of 4 allocations$/m);
    expect(stdout).toMatch(/in load$/m);
    expect(stdout).toMatch(/in work \(99\.\d %\)$/m);
  });

  it("leaks them where it has lost them, and that is not said twice", () => {
    writeFileSync(join(folder, "loser.wasm"), program(""));
    const { stderr } = memshade("run", "--out", "lost", "loser.wasm");
    expect(stderr).toMatch(/leak +39\.1 KiB/);
    expect(stderr).not.toMatch(/drag/);
  });

  it("has all intervals as CSV and JSON", () => {
    const lines = memshade("report", "run", "--tool", "heap", "--csv").stdout.split("\n");
    expect(lines[0]).toBe(
      "instance,module,interval,start,end,allocations,liveBytes,liveBlocks,maxBytes,maxBlocks,allocatedBytes,freedBytes,frees,partial",
    );
    expect(lines[1]).toBe("0,keeper.wasm,0,0,4,4,4000,4,4000,4,4000,0,0,0");
    const { overTime, findings } = JSON.parse(memshade("report", "run", "--json", "--full").stdout);
    expect(overTime.instances[0].intervals.liveBytes.slice(0, 11)).toEqual([
      ...Array.from({ length: 10 }, (_, i) => (i + 1) * 4000),
      40_000,
    ]);
    expect(findings.dragged).toMatchObject({ blocks: 40, bytes: 40_000 });
  });
});
