import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";

const MODULE = fileURLToPath(new URL("../fixtures/programs/objects/kotlin.wasm", import.meta.url));

async function succeed(args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await memshade(args, { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

/** A store with builds of a program, each of which makes the given number of points. */
async function storeOf(points: Readonly<Record<string, number>>): Promise<string> {
  const cwd = newFolder();
  copyFileSync(MODULE, join(cwd, "kotlin.wasm"));
  writeFileSync(
    join(cwd, "app.mjs"),
    `import { readFileSync } from "node:fs";
const { instance } = await WebAssembly.instantiate(readFileSync("kotlin.wasm"));
instance.exports.run(Number(process.argv[2]));`,
  );
  for (const [build, count] of Object.entries(points)) {
    const out = join(`runs-${build}`, "run");
    await succeed(["node", "--tool", "objects", "--out", out, "app.mjs", `${count}`], cwd);
    // A folder of runs adds all its runs.
    const added = await memshade(["store", "add", "--to", "fleet", "--build", build, `runs-${build}`], {
      cwd,
    });
    expect(added.stderr).toBe(`memshade: 1 run of build ${build} added to fleet: 4 places of objects\n`);
  }
  return cwd;
}

describe("a store of runs of objects", () => {
  it("tells what has come to make more of them, by places and types, and which fields no run reads", async () => {
    const cwd = await storeOf({ a: 1000, b: 1000, c: 3000 });
    const { measure, repeatable, steps } = JSON.parse(
      await succeed(["store", "trend", "fleet", "--json"], cwd),
    );
    expect({ measure, repeatable }).toEqual({ measure: "object-bytes", repeatable: true });
    expect(steps).toHaveLength(1);
    const sql =
      "select r.build, o.type_name, o.objects from objects as o join runs as r on r.run = o.run where o.type_name = 'Point' order by 1";
    const rows = JSON.parse(await succeed(["store", "query", "fleet", sql, "--json"], cwd));
    expect(rows.map(({ objects }: { objects: number }) => objects)).toEqual([1000, 1000, 3000]);
    const { advice } = JSON.parse(await succeed(["store", "advise", "fleet", "--json"], cwd));
    const point = advice.find(({ type }: { type: string }) => type === "Point");
    expect(point.fields.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(["y", "label"]),
    );
    // Four fields of Any, x and y come first, behind a header of two words.
    const label = point.fields.find(({ name }: { name: string }) => name === "label");
    expect(label).toMatchObject({ offset: 32 });
    const failed = await memshade(["store", "trend", "fleet", "--fail-on", "object-bytes+5%"], { cwd });
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(/c: object-bytes \+.* \(.*, exact\)/);
    const merged = await memshade(["merge", join("runs-a", "run"), "-o", "x.memprofdata"], { cwd });
    expect(merged).toMatchObject({ code: 2 });
    expect(merged.stderr).toMatch(
      /^memshade: .*run has no heap profile: it was recorded without the heap tool\n$/,
    );
    // The amount in use may differ between runs.
    const inUse = JSON.parse(
      await succeed(["store", "trend", "fleet", "--by", "objects-in-use", "--json"], cwd),
    );
    expect(inUse.repeatable).toBe(false);
  });
});
