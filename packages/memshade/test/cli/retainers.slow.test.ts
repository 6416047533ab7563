import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { canCompile, compileProgram } from "../record/native/support/record.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const PLANTED = fileURLToPath(new URL("../fixtures/planted/c/", import.meta.url));

interface Report {
  places: {
    place: { line: number };
    paths: {
      root: { kind: string; name?: string; offset?: number };
      holders: { member?: string; offset?: number }[];
      blocks: number;
      falls: number;
      fallsWithRoot: number;
    }[];
  }[];
}

async function recorded(folder: string, program: string): Promise<void> {
  const { code, stderr } = await memshade(["run", "--tool", "alloc", "--out", "here", program], {
    cwd: folder,
  });
  expect(`${stderr}${code}`).toMatch(/0$/);
}

async function told(folder: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await memshade(["retainers", "here", ...words], { cwd: folder });
  expect(`${stderr}${code}`).toBe("0");
  return stdout;
}

describe("memshade retainers", () => {
  it("names the global that holds the sessions of a module", async () => {
    const folder = newFolder();
    copyFileSync(join(PLANTED, "growing-sessions.wasm"), join(folder, "sessions.wasm"));
    await recorded(folder, "sessions.wasm");
    expect(await told(folder)).toContain(
      "375 KiB in 3,000 blocks by session_of (growing-sessions.c:27)\n  held by global table (+0) → here\n    falls if cleared: 375 KiB\n",
    );
  });

  it.skipIf(!canCompile)("names the same global of the same program as native code", async () => {
    const folder = newFolder();
    compileProgram("../../../fixtures/planted/c/growing-sessions.c", join(folder, "sessions"), ["-g", "-O1"]);
    await recorded(folder, "./sessions");
    expect(await told(folder, "--site", "session_of")).toMatch(
      /in 3,000 blocks by session_of \(growing-sessions.c:27\)\n {2}held by global table \(\+0\) → here\n {4}falls if cleared: \d/,
    );
  });

  it.skipIf(!canCompile)("leads through members to each place, and tells what falls", async () => {
    const folder = newFolder();
    compileProgram("retained.c", join(folder, "retained"), ["-g", "-O0"]);
    await recorded(folder, "./retained");
    const report: Report = JSON.parse(await told(folder, "--json", "--site", "retained.c"));
    const paths = report.places.flatMap((place) =>
      place.paths.map(({ root, holders, blocks, falls, fallsWithRoot }) => [
        [
          root.name === undefined ? root.kind : `${root.name} (+${root.offset})`,
          ...holders.map((holder) => holder.member ?? `+${holder.offset}`),
          place.place.line,
        ].join(" → "),
        blocks,
        falls,
        fallsWithRoot,
      ]),
    );
    // 24 bytes an entry and 100 its name; the table has 16, its slots 512.
    expect(paths.sort()).toEqual([
      ["lost → 36", 1, 300, 300],
      ["recent (+0) → 20", 10, 1240, 1240],
      ["recent (+0) → entry.name → 23", 10, 1000, 1240],
      ["registry (+16) → 13", 1, 124_528, 124_528],
      ["registry (+16) → table.slots → +0 → 20", 1000, 124_000, 124_528],
      ["registry (+16) → table.slots → +0 → entry.name → 23", 1000, 100_000, 124_528],
      ["registry (+16) → table.slots → 15", 1, 124_512, 124_528],
      ["thread → 35", 1, 5000, 5000],
    ]);
  });

  it("says in one line what is wrong", async () => {
    const folder = newFolder();
    copyFileSync(join(PLANTED, "growing-sessions.wasm"), join(folder, "sessions.wasm"));
    await recorded(folder, "sessions.wasm");
    const failure = async (...words: string[]) => {
      const { code, stderr } = await memshade(["retainers", ...words], { cwd: folder });
      expect(stderr.trimEnd()).not.toContain("\n");
      return `${code} ${stderr}`;
    };
    expect(await failure("here", "--site", "nobody")).toMatch(
      /^2 .*no place with live blocks contains "nobody"/,
    );
    expect(await failure("nowhere")).toMatch(/^2 .*nowhere/);
    const file = join(folder, "here/retainers.json");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/"holders":\[-1/, '"holders":[9'));
    expect(await failure("here")).toMatch(/^2 .*holders\[0\] should be a row before it/);
    rmSync(file);
    expect(await failure("here")).toMatch(/^2 .*retainers.json is missing/);
    const run = join(folder, "here/run.json");
    writeFileSync(run, readFileSync(run, "utf8").replace(/,\s*"retainers": "retainers.json"/, ""));
    expect(await failure("here")).toMatch(
      /^2 .*does not tell who holds its live blocks\. Record the run again/,
    );
  });
});
