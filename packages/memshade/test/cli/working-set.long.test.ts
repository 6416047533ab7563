import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { decodeModule, opcodeId } from "../../src/code/wasm/index.ts";
import { readU32Leb } from "../../src/ground/bytes/leb128.ts";
import { wat } from "../support/assemble.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const TREES = fileURLToPath(new URL("../fixtures/programs/kernels/bintree.wasm", import.meta.url));

const CALL = opcodeId("call");

let cwd: string;
beforeAll(() => {
  cwd = newFolder();
  copyFileSync(TREES, join(cwd, "bintree.wasm"));
});

/** Runs the program into a run folder; returns the tool's output without its varying parts. */
async function record(out: string, depth: number, ...options: string[]) {
  const words = ["run", "--tool", "workingset", ...options, "--out", out, "bintree.wasm", String(depth)];
  const { code, stdout } = await memshade(words, { cwd });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^bintree/);
  rmSync(join(cwd, out, "measured.json"));
  const text = readFileSync(join(cwd, out, "workingset.json"), "utf8");
  return { text, profile: JSON.parse(text) };
}

async function report(...words: string[]): Promise<string> {
  const { code, stdout } = await memshade(["report", ...words], { cwd });
  expect(code).toBe(0);
  return stdout;
}

describe("memshade run --tool workingset", () => {
  it("writes the same bytes in every run, and reports in four forms", async () => {
    const first = await record("out", 8, "--interval", "20000acc");
    const second = await record("again", 8, "--interval", "20000acc");
    expect(second.text).toBe(first.text);
    await expect(await report("out")).toMatchFileSnapshot("golden/working-set.txt");
    await expect(await report("out", "--csv")).toMatchFileSnapshot("golden/working-set.csv");
    await expect(await report("out", "--compat", "esan")).toMatchFileSnapshot("golden/working-set-esan.txt");
    const json = JSON.parse(await report("out", "--json", "--full"));
    expect(json).toMatchObject({ schema: "memshade-working-set", unit: "accesses", lineBytes: 64 });
    expect(json.instances[0].total).toEqual(first.profile.instances[0].total);
  });

  it("says first what is not known of the program's memory", async () => {
    writeFileSync(
      join(cwd, "bare.wasm"),
      wat(`(module (memory (export "memory") 1)
        (func (export "_start") (i32.store (i32.const 8) (memory.grow (i32.const 1)))))`),
    );
    expect(
      (await memshade(["run", "--tool", "workingset", "--out", "bare", "bare.wasm"], { cwd })).code,
    ).toBe(0);
    const text = await report("bare");
    expect(text).toMatch(
      /^Working set of bare\.wasm\n\n! Read this first\n {2}· bare\.wasm: The start of the heap/,
    );
    expect(text).toContain("\n1 access in 1 interval of 1.00 M\n");
    expect(text).toContain("  1 line of 64 bytes");
  });

  it("measures real time in Node programs from their first access on", async () => {
    writeFileSync(
      join(cwd, "touch.wasm"),
      wat(`(module (memory 1) (func (export "touch") (drop (i32.load (i32.const 0)))))`),
    );
    writeFileSync(
      join(cwd, "touch.cjs"),
      `const bytes = new WebAssembly.Module(require("node:fs").readFileSync("touch.wasm"));
       const { touch } = new WebAssembly.Instance(bytes).exports;
       for (const end = Date.now() + 300; Date.now() < end; ) touch();`,
    );
    const words = ["node", "--tool", "workingset", "--interval", "1ms", "--out", "touch", "touch.cjs"];
    expect((await memshade(words, { cwd })).code).toBe(0);
    const { instances } = JSON.parse(readFileSync(join(cwd, "touch/workingset.json"), "utf8"));
    expect(instances[0].duration).toBeGreaterThan(0);
    expect(instances[0].levels[0].end.length).toBeGreaterThan(1);
  });

  it("tells whose the lines are, the same in every run, in text and as CSV", async () => {
    const options = ["--who", "--interval", "100000acc"];
    const first = await record("who", 8, ...options);
    const second = await record("whoagain", 8, ...options);
    expect(second.text).toBe(first.text);
    await expect(await report("who", "-n", "4")).toMatchFileSnapshot("golden/working-set-who.txt");
    await expect(await report("who", "--csv")).toMatchFileSnapshot("golden/working-set-who.csv");
    for (const by of ["share", "first-touch"]) {
      const { stdout } = await memshade(["top", "who", "--by", by, "-n", "3"], { cwd });
      await expect(stdout).toMatchFileSnapshot(`golden/working-set-top-${by}.txt`);
    }
    for (const group of ["function", "path"])
      for (const by of ["share", "first-touch", "lines", "new", "fill"]) {
        const words = ["top", "who", "--by", by, "--group", group, "-n", "3"];
        const { stdout } = await memshade(words, { cwd });
        await expect(stdout).toMatchFileSnapshot(`golden/working-set-top-${by}-by-${group}.txt`);
      }
    const { stdout } = await memshade(["top", "who", "--by", "share", "--json"], { cwd });
    const { rows, total } = JSON.parse(stdout);
    const { counts } = first.profile.instances[0].levels[0];
    const mean = counts.lines.reduce((sum: number, lines: number) => sum + lines, 0) / counts.lines.length;
    expect(total / first.profile.lineBytes).toBeCloseTo(mean, 4);
    expect(rows.map(({ place }: { place: object }) => place).slice(0, 3)).toMatchObject([
      { function: "grow" },
      { word: "the allocator's own, or free" },
      { word: "static data" },
    ]);
  });

  it("tells whose the lines are only with the working-set tool", async () => {
    const { code, stderr } = await memshade(["run", "--who", "bintree.wasm"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toBe("memshade: --who is an option of the working-set tool: add --tool workingset\n");
  });

  it.each([
    ["share", " with --tool workingset --who"],
    [
      "first-touch",
      " with --tool workingset (for WebAssembly programs, --tool heap,workingset records both), and --who when a WebAssembly program is recorded",
    ],
    ["misses", " of a WebAssembly program with --tool workingset --locality"],
    ["cold", " of a WebAssembly program with --tool workingset --locality"],
    ["fill", " of a WebAssembly program with --tool workingset --who"],
  ])("ranks nothing by %s where the run is none%s", async (by, which) => {
    await record("bare", 6);
    const { code, stderr } = await memshade(["top", "bare", "--by", by], { cwd });
    expect(code).toBe(2);
    expect(stderr).toBe(
      `memshade: --by ${by} needs a run${which}: bare has workingset, new, first-touch, intervals, interval-bytes, mean-workingset\n`,
    );
  });

  it("ranks what was recorded, and names what was not", async () => {
    await record("bare", 6);
    const [usual, named] = await Promise.all([
      memshade(["top", "bare"], { cwd }),
      memshade(["top", "bare", "--by", "lines"], { cwd }),
    ]);
    expect([usual.code, usual.stdout]).toEqual([0, named.stdout]);
    const bytes = await memshade(["top", "bare", "--by", "bytes"], { cwd });
    expect([bytes.code, bytes.stderr]).toEqual([
      2,
      "memshade: --by bytes needs a run with --tool heap or alloc: bare has workingset\n",
    ]);
    await memshade(["run", "--out", "heap", "bintree.wasm", "6"], { cwd });
    const lines = await memshade(["top", "heap", "--by", "new"], { cwd });
    expect([lines.code, lines.stderr]).toEqual([
      2,
      "memshade: --by new needs a run with --tool workingset (for WebAssembly programs, --tool heap,workingset records both): heap has heap\n",
    ]);
    const misses = await memshade(["top", "bare", "--by", "misses", "--group", "path"], { cwd });
    expect([misses.code, misses.stderr]).toEqual([
      2,
      "memshade: --by misses needs a run of a WebAssembly program with --tool workingset --locality: bare has workingset, new, first-touch, intervals, interval-bytes, mean-workingset\n",
    ]);
  });

  it("keeps few intervals of a long run by merging neighbours, and loses no line", async () => {
    const { profile: all } = await record("all", 9, "--interval", "5000acc");
    const { profile: few } = await record("few", 9, "--interval", "5000acc", "--max-intervals", "8");
    const [many, merged] = [all.instances[0], few.instances[0]];
    expect(many.levels[0].start.length).toBeGreaterThan(64);
    expect(merged.levels[0].start.length).toBeLessThanOrEqual(8);
    expect(merged.snapshots).toBeGreaterThan(8);
    expect(Math.log2(merged.period / 5000) % 1).toBe(0);
    expect(merged.total).toEqual(many.total);
    expect(merged.duration).toBe(many.duration);
    expect(merged.levels[0].fresh.reduce((sum: number, lines: number) => sum + lines, 0)).toBe(
      many.total.lines,
    );
  });

  it("measures intervals in real time and in processor time", async () => {
    const { profile: wall } = await record("wall", 16, "--interval", "2ms");
    expect(wall).toMatchObject({ unit: "wall", options: { interval: 2e6 } });
    const { profile: cpu } = await record("cpu", 16, "--interval", "2ms", "--cpu-time");
    expect(cpu).toMatchObject({ unit: "cpu", options: { interval: 2e6 } });
    for (const { instances } of [wall, cpu]) {
      const { start, end, counts } = instances[0].levels[0];
      expect(end.length).toBeGreaterThan(1);
      for (let i = 1; i < end.length; i++) expect(start[i]).toBe(end[i - 1]);
      expect(Math.max(...counts.lines)).toBeLessThanOrEqual(instances[0].total.lines);
    }
  });

  it.each([[["--interval", "500acc"]], [["--interval", "500acc", "--tool", "heap"]]])(
    "notes where the calls of each stack stand: %j",
    async (options) => {
      const { profile } = await record(`stacks${options.length}`, 8, ...options);
      const module = decodeModule(new Uint8Array(readFileSync(TREES)));
      const calleeAt = (position: number): number =>
        module.bytes[position] === CALL ? readU32Leb(module.bytes, position + 1) : -1;
      let calls = 0;
      for (const stack of profile.instances[0].stacks as { function: number; offset: number }[][])
        stack.forEach(({ function: index, offset }, depth) => {
          const body = module.bodies[index - module.importedFunctionCount];
          const position = module.codePayloadStart + offset;
          expect(position).toBeGreaterThanOrEqual(body.codeStart);
          expect(position).toBeLessThan(body.end);
          if (depth === 0) return;
          // Recursion is one frame: the innermost call is that of the frame below.
          expect(calleeAt(position)).toBe(stack[depth - 1].function);
          calls++;
        });
      expect(calls).toBeGreaterThan(10);
    },
  );

  it("follows the locality in accesses, whatever intervals are measured in", async () => {
    // There are some 150 intervals; on a busy machine the clock may start late.
    const { profile: virtual } = await record("references", 16, "--locality");
    const { profile: timed } = await record("timed", 16, "--locality", "--interval", "1ms");
    expect(timed.unit).toBe("wall");
    expect(timed.instances[0].levels[0].end.length).toBeGreaterThan(1);
    expect(timed.instances[0].locality).toEqual(virtual.instances[0].locality);
  });

  it.each(["20", "0ms", "-5ms", "1e6acc", "1.5acc", "", "acc", "20MS"])(
    "refuses an interval of '%s' in one line",
    async (interval) => {
      const words = ["run", "--tool", "workingset", `--interval=${interval}`, "bintree.wasm"];
      const { code, stderr } = await memshade(words, { cwd });
      expect(code).toBe(2);
      expect(stderr).toBe(
        `memshade: option '--interval <length>' argument '${interval}' is invalid. It must be a length such as 1000000acc, 20ms or 1s.\n`,
      );
    },
  );

  it("refuses processor time for intervals of accesses", async () => {
    const words = ["run", "--tool", "workingset", "--interval", "100acc", "--cpu-time", "bintree.wasm"];
    expect(await memshade(words, { cwd })).toMatchObject({
      code: 2,
      stderr: "memshade: --cpu-time needs an --interval of time, such as 20ms\n",
    });
  });
});
