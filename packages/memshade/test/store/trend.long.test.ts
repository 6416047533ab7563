import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunHost } from "../../src/profile/model/run.ts";
import { memshade, newFolder, startMemshade } from "../cli/support/command-line.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

/** Reproducible bytes around a mean that look random. */
function noisy(mean: number, spread: number, seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43758.5453;
  return Math.round(mean + spread * (x - Math.floor(x) - 0.5) * 2);
}

/** A store with runs of invented builds; `blocks` gives the number of blocks that each function of a build's run allocates. */
async function storeOf(
  builds: readonly string[],
  runs: number,
  blocks: (build: number, run: number) => Readonly<Record<string, number>>,
  clock: "virtual" | "wall" = "virtual",
  host?: RunHost,
): Promise<string> {
  const cwd = newFolder();
  for (const [number, build] of builds.entries()) {
    const folders = Array.from({ length: runs }, (_, run) => {
      const folder = `${build}-${run}`;
      const lines = Object.entries(blocks(number, run)).map(
        ([name, count]) => `main > ${name}  ${count} x 64  peak 1`,
      );
      const picture = heapPicture(lines.join("\n"));
      if (host !== undefined) picture.run.host = host;
      if (clock === "wall") picture.run.tools.heap!.clock = { kind: "wall", unit: "ms" };
      picture.run.heap!.allocatedBytes = Object.values(blocks(number, run)).reduce(
        (sum, count) => sum + 64 * count,
        0,
      );
      writePicture(join(cwd, folder), picture);
      return folder;
    });
    const { code, stderr } = await memshade(
      ["store", "add", "--to", "fleet", "--build", build, "--commit", build, ...folders],
      {
        cwd,
      },
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
  }
  return cwd;
}

const trend = (cwd: string, ...args: string[]) => memshade(["store", "trend", "fleet", ...args], { cwd });

describe("a trend", () => {
  it("names the build at which runs that repeat have changed, and the function", async () => {
    const cwd = await storeOf(["b1", "b2", "b3"], 1, (build) => ({
      parse: build < 2 ? 100 : 110,
      render: 50,
    }));
    const { code, stdout, stderr } = await trend(cwd, "--by", "bytes", "--fail-on", "bytes+5%");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/^b3: bytes \+640 B \(1\.07x, exact\)$/m);
    expect(stdout).toMatch(/^ +\+640 B +1\.10x {2}parse/m);
    expect(stdout).not.toMatch(/render/);
    expect(stdout).toMatch(/^FAILED bytes\+5%: b3 is 640 B above the build before$/m);
    expect((await trend(cwd, "--by", "bytes", "--fail-on", "bytes+10%")).code).toBe(0);
  });

  it("takes the totals of runs for exact whose callers in JavaScript are estimates, and says so", async () => {
    const cwd = await storeOf(["b1", "b2"], 1, (build) => ({ parse: 100 + build }), "virtual", {
      mode: "sampled",
      asked: 1,
      leftOut: 5,
      start: "0x100000000",
      frames: [],
    });
    const { steps, notTracked } = JSON.parse((await trend(cwd, "--by", "bytes", "--json")).stdout);
    expect(steps).toMatchObject([{ build: "b2", exact: true }]);
    expect(notTracked).toEqual([expect.stringMatching(/estimates: totals are exact/)]);
  });

  it("tells limits of other measures in their own units, at their own builds", async () => {
    const cwd = await storeOf(["b1", "b2"], 1, (build) => ({ parse: build === 0 ? 100 : 300 }));
    const { stdout } = await trend(cwd, "--by", "bytes", "--fail-on", "count+10%");
    expect(stdout).toMatch(/^FAILED count\+10%: b2 is 200 above the build before$/m);
  });

  it("looks at every step of the window, not at its ends", async () => {
    const cwd = await storeOf(["b1", "b2", "b3"], 1, (build) => ({ parse: [100, 200, 100][build]! }));
    const failing = await trend(cwd, "--by", "bytes", "--fail-on", "bytes+5%");
    expect(failing.code).toBe(1);
    expect(failing.stdout).toMatch(/FAILED bytes\+5%: b2/);
    expect((await trend(cwd, "--by", "bytes", "--last", "2", "--fail-on", "bytes+5%")).code).toBe(0);
  });

  it("finds a planted growth among noise at its build, and names nothing else", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `part${index}`);
    const builds = Array.from({ length: 6 }, (_, index) => `b${index}`);
    const cwd = await storeOf(
      builds,
      6,
      (build, run) =>
        Object.fromEntries(
          names.map((name, index) => {
            const grown = index === 7 && build >= 4 ? 1.25 : 1;
            return [name, noisy(1000 * grown, 60, build * 1000 + run * 50 + index)];
          }),
        ),
      "wall",
    );
    const { stdout } = await trend(cwd, "--by", "bytes", "--json");
    const { steps, repeatable } = JSON.parse(stdout);
    expect(repeatable).toBe(false);
    expect(steps.map(({ build }: { build: string }) => build)).toEqual(["b4"]);
    expect(
      steps[0].parts.map(({ frames }: { frames: { function: string }[] }) => frames[0]!.function),
    ).toEqual(["part7"]);
  });

  it("is written as a page that escapes what programs are called", async () => {
    const cwd = await storeOf(["<b>1</b>", "b2"], 1, (build) => ({ parse: 100 + build }));
    await trend(cwd, "--by", "bytes", "--html", "trend.html");
    const page = readFileSync(join(cwd, "trend.html"), "utf8");
    expect(page).toContain("&#60;b&#62;1");
    expect(page).not.toContain("<b>1");
    expect(page).toContain('href="#step-1"');
  });
});

describe("runs that are added", () => {
  const runs = () => storeOf(["b1"], 2, (_, run) => ({ parse: 100 + run }));

  it("change nothing when they are there already", async () => {
    const cwd = await runs();
    const files = () => readdirSync(join(cwd, "fleet"), { recursive: true, encoding: "utf8" }).sort();
    const before = files();
    const { code, stderr } = await memshade(
      ["store", "add", "--to", "fleet", "--build", "b1", "--commit", "b1", "b1-0", "b1-1"],
      { cwd },
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/b1-0 is in the store already: skipped/);
    expect(stderr).toMatch(/nothing new for fleet/);
    expect(files()).toEqual(before);
  });

  it("by two at once are all there, once", async () => {
    const cwd = await runs();
    for (const name of ["x", "y"]) writePicture(join(cwd, name), heapPicture(`main > ${name}  5 x 8`));
    const add = (run: string) => memshade(["store", "add", "--to", "fleet", "--build", "b2", run], { cwd });
    const ended = await Promise.all([add("x"), add("y"), add("x")]);
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
    const { stdout } = await memshade(
      ["store", "query", "fleet", "select count(*) as n from runs", "--csv"],
      { cwd },
    );
    expect(stdout).toBe("n\n4\n");
  });

  it("with a heap that nobody followed have no figures, which is said", async () => {
    const cwd = newFolder();
    const picture = heapPicture("");
    for (const module of picture.run.modules) module.allocator = { how: "none", functions: [] };
    picture.run.modules = [
      { ...heapPicture("main > parse  1 x 8").run.modules[0]!, allocator: { how: "none", functions: [] } },
    ];
    writePicture(join(cwd, "x"), picture);
    const { code, stderr } = await memshade(["store", "add", "--to", "fleet", "--build", "b", "x"], { cwd });
    expect(code).toBe(0);
    expect(stderr).toMatch(/x: no allocator was found, so its heap was not recorded/);
    expect(await trend(cwd, "--by", "bytes")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no run of default has bytes allocated/),
    });
  });

  it("by somebody who is killed leave nothing half written", async () => {
    const cwd = await runs();
    writePicture(join(cwd, "x"), heapPicture("main > x  5 x 8"));
    const started = startMemshade(["store", "add", "--to", "fleet", "--build", "b2", "x"], {
      cwd,
      input: "",
    });
    started.child.kill("SIGKILL");
    await started.ended;
    const { code, stdout } = await memshade(
      ["store", "query", "fleet", "select count(*) as n from runs", "--csv"],
      { cwd },
    );
    expect({ code, stdout: ["n\n2\n", "n\n3\n"].includes(stdout) }).toEqual({ code: 0, stdout: true });
  });
});

describe("questions", () => {
  const small = storeOf(["b1"], 1, () => ({ parse: 100 }));

  it.each([
    [["query", "fleet", "drop view runs"], /only reads/],
    [["query", "fleet", "select 1; select 2"], /one statement/],
    [["query", "fleet", "copy runs to 'x.csv'"], /only reads/],
    [["query", "fleet", "select * from read_csv('/etc/passwd')"], /DuckDB: /],
    [["query", "fleet", "select nonsense from runs"], /DuckDB: .*nonsense/],
    [["query", "nowhere", "select 1"], /nowhere is not a store/],
    [["trend", "fleet", "--by", "heat"], /--by takes one of bytes, peak, /],
    [["trend", "fleet", "--project", "other"], /no runs of a project other/],
    [["trend", "fleet", "--by", "waste"], /no run of default has dead bytes/],
    [["add", "--to", "fleet", "b1-0"], /the build is not known/],
    [["trend", "fleet", "--fail-on", "peak-5%"], /--fail-on takes one of/],
    [["merge", "fleet", "-o", "x", "--where", "true; drop view runs"], /one statement|DuckDB/],
    [["merge", "fleet", "-o", "x", "--where", "build = 'none'"], /no run with a heap fits/],
    [["merge", "fleet", "-o", "x", "--cold-in", "95"], /such as 95%/],
    [["compact", "fleet", "--older-than", "30d"], /give both/],
    [["sql", "oracle"], /takes one of clickhouse, duckdb/],
    [["add", "--to", "fleet", "--build", "b", "missing"], /missing: there is no such file/],
    [["add", "--to", ".", "--build", "b", "b1-0"], /has other files/],
    [["add", "--to", "fleet", "--build", "b", "--label", "x", "b1-0"], /--label takes a name and a value/],
    [
      ["add", "--to", "fleet", "--build", "b", "--label", "a=1", "--label", "a=2", "b1-0"],
      /a is given twice/,
    ],
    [["add", "--to", "fleet", "--build", "", "b1-0"], /--build takes the name/],
    [["add", "--to", "fleet", "--build", "b", "--input", "", "b1-0"], /--input takes a number/],
    [["add", "--to", "fleet", "--build", "b", "--input", "Infinity", "b1-0"], /--input takes a number/],
    [["query", "fleet", "/* nothing */ ; -- at all"], /the query is empty/],
  ] as const)("with a mistake end with 2 and one line: %j", async (args, message) => {
    const cwd = await small;
    const { code, stdout, stderr } = await memshade(["store", ...args], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^memshade: [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  it.each([0, 300])("of a file that ends at byte %i end in one line that names it", async (length) => {
    const cwd = await storeOf(["b1"], 1, () => ({ parse: 100 }));
    const folder = join(cwd, "fleet/runs/project=default");
    const [file] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".parquet"),
    );
    writeFileSync(join(folder, file!), readFileSync(join(folder, file!)).subarray(0, length));
    for (const args of [
      ["trend", "fleet"],
      ["query", "fleet", "select 1 from runs"],
      ["compact", "fleet"],
      ["add", "--to", "fleet", "--build", "b2", "b1-0"],
    ]) {
      const { code, stderr } = await memshade(["store", ...args], { cwd });
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toMatch(/^memshade: [^\n]+\n$/);
      expect(stderr).toContain(file);
    }
  });

  it("print what has parts of its own, also in 64 bits", async () => {
    const { code, stdout } = await memshade(
      [
        "store",
        "query",
        "fleet",
        "select {'a': 9007199254740993, 'b': [1.5]} as parts, map {'x': 1} as pairs",
        "--csv",
      ],
      { cwd: await small },
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `parts,pairs\n"{""a"":""9007199254740993"",""b"":[1.5]}","[{""key"":""x"",""value"":1}]"\n`,
    });
  });

  it("say what to install where DuckDB is not there", async () => {
    const cwd = await small;
    const hook = join(cwd, "hide.mjs");
    writeFileSync(
      hook,
      `import { registerHooks } from "node:module";
registerHooks({ resolve(name, context, next) {
  if (name !== "@duckdb/node-api") return next(name, context);
  throw Object.assign(new Error("not here"), { code: "ERR_MODULE_NOT_FOUND" });
} });`,
    );
    const { code, stderr } = await memshade(["store", "trend", "fleet"], {
      cwd,
      env: { NODE_OPTIONS: `--import=${hook}` },
    });
    expect(code).toBe(2);
    expect(stderr).toBe("memshade: reading a store needs DuckDB: npm install @duckdb/node-api\n");
  });

  it("in other engines' words are those that DuckDB answers too", async () => {
    const cwd = await small;
    const { stdout } = await memshade(["store", "sql", "duckdb", "--store", "fleet"], { cwd });
    const questions = stdout.split("\n\n").filter((text) => /^-- [a-z-]+: .*\n(select|with)/.test(text));
    expect(questions.length).toBeGreaterThan(5);
    for (const question of questions) {
      const sql = question.replace(/^--.*\n/, "").replace(/;\s*$/, "");
      const { code, stderr } = await memshade(["store", "query", "fleet", sql], { cwd });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    }
  });
});
