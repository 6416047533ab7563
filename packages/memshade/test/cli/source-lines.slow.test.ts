import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const SOURCES = fileURLToPath(new URL("../fixtures/programs/", import.meta.url));
const cwd = newFolder();

/** A run of debug/lines.wasm, whose source allocates at lines 11 (inlined) and 18. */
beforeAll(async () => {
  copyFileSync(join(SOURCES, "debug/lines.wasm"), join(cwd, "lines.wasm"));
  const { code, stdout } = await memshade(["run", "--out", "run", "lines.wasm"], { cwd });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "35\n" });
});

const json = async (args: string[]) => JSON.parse((await memshade(args, { cwd })).stdout);

describe("a run of a module with debug information", () => {
  it("shows the lines that allocate, with inlined frames as such", async () => {
    const { sites } = await json(["report", "run", "--json", "--full"]);
    const items = sites.filter((site: { maxSize: number }) => site.maxSize === 8);
    expect(items.map(({ allocCount }: { allocCount: number }) => allocCount).sort()).toEqual([10, 5]);
    for (const { stack } of items) {
      expect(stack[0]).toMatchObject({
        function: "new_item",
        file: "./debug/lines.c",
        line: 11,
        column: 23,
        inlined: true,
        index: null,
      });
      expect(stack[1]).toMatchObject({ file: "./debug/lines.c", line: expect.any(Number) });
      expect(stack[1].inlined).toBeUndefined();
      expect(stack[0].offset).toBe(stack[1].offset);
    }
    const callLines = items.map(({ stack }: { stack: { line: number }[] }) => stack[1]!.line);
    expect(callLines.sort()).toEqual([24, 26]);
  });

  it("takes calls that the compiler inlined at several places for one site of the source", async () => {
    const { stdout } = await memshade(["top", "run", "--wide"], { cwd });
    expect(stdout).toMatch(/120 B .* 15 .* new_item \(\.\/debug\/lines\.c:11:23\)$/m);
    expect(stdout).toMatch(/100 B .* 1 .* new_buffer \(\.\/debug\/lines\.c:18:10\)$/m);
    expect((await memshade(["report", "run"], { cwd })).stdout).toContain("./debug/lines.c:11:23");
  });

  it("shows the numbers beside the source, where the source is found", async () => {
    const missing = await memshade(["report", "run", "--source"], { cwd });
    expect(missing.stdout).toContain("(the file was not found: --path-map FROM=TO finds it)");
    const { stdout } = await memshade(["report", "run", "--source", "--path-map", `.=${SOURCES}`], { cwd });
    expect(stdout).toMatch(/120 B +15 +\d+ +11 │ {3}struct item \*made = malloc\(/);
    expect(stdout).toMatch(/100 B +1 +1 +18 │ {3}return calloc\(size, 1\);/);
  });

  it("finds the source beside the module, from wherever it is asked", async () => {
    const elsewhere = newFolder();
    const folder = join(elsewhere, "app");
    mkdirSync(folder);
    copyFileSync(join(SOURCES, "debug/lines.wasm"), join(folder, "lines.wasm"));
    copyFileSync(join(SOURCES, "debug/lines.c"), join(folder, "lines.c"));
    await memshade(["run", "--out", "run", "app/lines.wasm"], { cwd: elsewhere });
    const { stdout } = await memshade(["report", "run", "--source"], { cwd: elsewhere });
    expect(stdout).toMatch(/18 │ {3}return calloc\(size, 1\);/);
  });

  it("puts source text into JSON only when asked", async () => {
    expect(JSON.stringify(await json(["report", "run", "--json", "--full"]))).not.toContain(
      "calloc(size, 1)",
    );
    const { lines } = await json([
      "report",
      "run",
      "--json",
      "--full",
      "--source",
      "--path-map",
      `.=${SOURCES}`,
    ]);
    expect(lines.map(({ line, bytes, text }: Record<string, unknown>) => [line, bytes, text])).toEqual([
      [11, 120, "  struct item *made = malloc(sizeof(struct item));"],
      [18, 100, "  return calloc(size, 1);"],
    ]);
  });

  it("keeps its lines when the module is gone", async () => {
    const original = join(cwd, "lines.wasm");
    const before = await json(["report", "run", "--json", "--full"]);
    mkdirSync(join(cwd, "elsewhere"));
    renameSync(original, join(cwd, "elsewhere", "lines.wasm"));
    const after = await json(["report", "run", "--json", "--full"]);
    expect(after.notTracked).toEqual([]);
    expect(after.sites).toEqual(before.sites);
    expect(after.sites[0].stack[0].file).toBe("./debug/lines.c");
  });

  it("without lines of its own says when the module is gone or another one, and finds it where it is told to look", async () => {
    const original = join(cwd, "lines.wasm");
    const run = JSON.parse(readFileSync(join(cwd, "run", "run.json"), "utf8"));
    for (const module of run.modules) delete module.places;
    writeFileSync(join(cwd, "run", "run.json"), JSON.stringify(run));
    expect((await json(["report", "run", "--json", "--full"])).notTracked).toContain(
      `No source lines for lines.wasm: ${original} is not there any more.`,
    );
    writeFileSync(original, "another file");
    const changed = await json(["report", "run", "--json", "--full"]);
    expect(changed.notTracked).toContain(
      `No source lines for lines.wasm: ${original} has changed since the run.`,
    );
    expect(
      changed.sites.every(({ stack }: { stack: { file?: string }[] }) => stack[0]!.file === undefined),
    ).toBe(true);
    const found = await json(["top", "run", "--json", "--binary-path", "elsewhere"]);
    expect(found.notTracked).toEqual([]);
    expect(found.rows[0].stack[0].file).toBe("./debug/lines.c");
  });

  it("refuses a path map without an equals sign", async () => {
    const { stderr, code } = await memshade(["report", "run", "--source", "--path-map", "here"], { cwd });
    expect({ stderr, code }).toEqual({ stderr: 'memshade: --path-map takes FROM=TO, not "here"\n', code: 2 });
  });
});
