import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { memshade } from "./support/command-line.ts";

// Frames of 800 bytes, 26 of them above the busy function: more than the 8 KiB that perf copies.
const SOURCE = `
#include <string.h>
static volatile unsigned sum;
__attribute__((noinline)) static void hash(const char *p) { for (int r = 0; r < 40000; r++) sum = sum * 33 + p[r & 511]; }
__attribute__((noinline)) static int deep(int n, char *b) {
  char big[700];
  memset(big, n, sizeof big);
  if (!n) hash(b); else deep(n - 1, b);
  return big[n & 511] + 1;
}
int main(void) { static char b[3000]; for (int i = 0; i < 1000; i++) deep(25, b); return 0; }
`;

const folder = mkdtempSync(join(tmpdir(), "memshade-cut-stacks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const run = (command: string, ...args: string[]) =>
  spawnSync(command, args, { cwd: folder, encoding: "utf8" });

function record(bytes: number): string {
  const file = join(folder, `${bytes}.data`);
  const events = ["-e", "page-faults,cpu-clock", "-F", "500"];
  run("perf", "record", "-q", ...events, "--call-graph", `dwarf,${bytes}`, "-o", file, "./busy");
  return file;
}

writeFileSync(join(folder, "busy.c"), SOURCE);
const canRecord =
  run("gcc", "-g", "-O1", "-o", "busy", "busy.c").status === 0 &&
  run("perf", "record", "-q", "-e", "cpu-clock", "-o", "try.data", "true").status === 0;
if (!canRecord) console.warn("SKIPPED: perf records nothing here, no stacks are cut");

describe.skipIf(!canRecord)("stacks that perf cut", () => {
  const cut = canRecord ? record(8192) : "";

  it("are told with what to record instead, and each event has its table", async () => {
    const { stdout } = await memshade(["unwind", cut], { cwd: folder });
    expect(stdout).toMatch(/Note: [\d,]+ of [\d,]+ stacks were cut when recorded/);
    expect(stdout).toContain("perf copied 8,192 bytes of them. --call-graph dwarf,65528 copies the most");
    expect(stdout).toMatch(/^[\d,]+ samples? of page-faults:$/m);
    expect(stdout).toMatch(/^[\d,]+ samples of cpu-clock:$/m);
  });

  it("are told on stderr where the output has no place for it", async () => {
    const { stdout, stderr } = await memshade(["unwind", cut, "--format", "folded"], { cwd: folder });
    expect(stdout).toContain("deep;hash");
    expect(stderr).toContain("stacks were cut when recorded");
    expect(stderr).toContain("--event NAME chooses one");
  });

  it("are whole with what was advised", async () => {
    const { stdout } = await memshade(
      ["unwind", record(65_528), "--event", "cpu-clock", "--format", "json"],
      { cwd: folder },
    );
    const { notes, events, stacks } = JSON.parse(stdout) as {
      notes: string[];
      events: string[];
      stacks: { event: string; frames: { function: string }[] }[];
    };
    expect(notes).toEqual([]);
    expect(events).toEqual(["cpu-clock"]);
    expect(new Set(stacks.map(({ event }) => event))).toEqual(new Set(["cpu-clock"]));
    const names = stacks[0]!.frames.map((frame) => frame.function);
    expect(names.filter((name) => name === "deep")).toHaveLength(26);
    expect(names).toContain("main");
  });

  it("are chosen by an event that the recording has", async () => {
    const { stderr, code } = await memshade(["unwind", cut, "--event", "cache-misses"], { cwd: folder });
    expect(code).toBe(2);
    expect(stderr).toContain("--event cache-misses: the recording has page-faults, cpu-clock");
  });
});
