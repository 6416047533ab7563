import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../src/ground/bytes/byte-source.ts";
import { besidesMemprof } from "../../../src/profile/formats/memprof-indexed/index.ts";
import { memshade, newFolder } from "../../cli/support/command-line.ts";
import { MAIN } from "../../command.ts";

const LLVM = "llvm-profdata-22";
const cwd = newFolder();

const MEMORY = `---
HeapProfileRecords:
  - GUID: main
    AllocSites:
      - Callstack:
          - { Function: main, LineOffset: 1, Column: 2, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 1, TotalSize: 10 }
    CallSites: []
...
`;
const COUNTERS = "main\n1\n2\n10\n20\n\n";
const KINDS: readonly (readonly [string, string, string])[] = [
  ["ir", `:ir\n${COUNTERS}`, "counters of 1 functions"],
  ["csir", `:csir\n${COUNTERS}`, "context-sensitive counters of 1 functions"],
  [
    "temporal",
    `:ir\n:temporal_prof_traces\n1\n1\n1\nmain\n\n${COUNTERS}`,
    "counters of 1 functions, temporal traces",
  ],
];

function profileWith(name: string, text: string): string {
  writeFileSync(join(cwd, "memory.yaml"), MEMORY);
  writeFileSync(join(cwd, `${name}.proftext`), text);
  const args = [
    "merge",
    "memory.yaml",
    ...(text === "" ? [] : [`${name}.proftext`]),
    "-o",
    `${name}.profdata`,
  ];
  expect(spawnSync(LLVM, args, { cwd, encoding: "utf8" })).toMatchObject({ status: 0 });
  return `${name}.profdata`;
}

describe.skipIf(spawnSync(LLVM, ["--version"]).status !== 0)("an indexed profile of llvm-profdata 22", () => {
  it.each(KINDS)(
    "with %s counters beside its memory profile is not merged unasked",
    async (name, text, words) => {
      const file = profileWith(name, text);
      const refused = await memshade(["merge", file, "-o", "out.memprofdata"], { cwd });
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain(`${file} has ${words} too; only memory profiles are merged`);
      expect(existsSync(join(cwd, "out.memprofdata"))).toBe(false);
      const forced = await memshade(["merge", "--force", file, "-o", `${name}.memprofdata`], { cwd });
      expect(forced.code).toBe(0);
      expect(forced.stderr).toContain(
        `left out, as only memory profiles are merged: ${file} has ${words} too`,
      );
      expect(forced.stderr).toContain("1 context");
    },
  );

  it.each([
    ["standard input", "/dev/stdin", 'cat "$1" | "$2" "$3" merge /dev/stdin $5 -o "$4"'],
    ["a named pipe", "fifo", 'rm -f fifo; mkfifo fifo; cat "$1" > fifo & "$2" "$3" merge fifo $5 -o "$4"'],
  ])("is not merged unasked from %s either, and read once", (_, path, script) => {
    const file = profileWith("piped", KINDS[0][1]);
    const merge = (output: string, ...more: string[]) =>
      spawnSync("sh", ["-c", script, "sh", file, process.execPath, MAIN, output, ...more], {
        cwd,
        encoding: "utf8",
      });
    const refused = merge("refused.memprofdata");
    expect(refused).toMatchObject({ status: 2, stdout: "" });
    expect(refused.stderr).toContain(
      `${path} has counters of 1 functions too; only memory profiles are merged`,
    );
    expect(existsSync(join(cwd, "refused.memprofdata"))).toBe(false);
    // Formats of LLVM are converted, others are merged.
    for (const output of ["piped.memprofdata", "piped.memshade"]) {
      const forced = merge(output, "--force");
      expect(forced).toMatchObject({ status: 0 });
      expect(forced.stderr).toContain("1 context");
    }
    const again = spawnSync(
      "sh",
      ["-c", script, "sh", "piped.memshade", process.execPath, MAIN, "again.yaml"],
      {
        cwd,
        encoding: "utf8",
      },
    );
    expect(again.stderr).toContain("1 context");
  });

  it("with its memory profile alone has nothing beside", () => {
    const bytes = readFileSync(join(cwd, profileWith("alone", "")));
    expect(besidesMemprof(sourceOfBytes(bytes))).toEqual([]);
  });
});
