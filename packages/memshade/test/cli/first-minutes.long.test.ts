import { copyFileSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const KERNELS = new URL("../fixtures/programs/kernels/", import.meta.url);
const cwd = newFolder();

beforeAll(() => {
  copyFileSync(fileURLToPath(new URL("../control/bulk.wasm", KERNELS)), join(cwd, "bulk.wasm"));
  for (const name of ["hashmap.wasm", "pair.wasm"])
    copyFileSync(fileURLToPath(new URL(name, KERNELS)), join(cwd, name));
  writeFileSync(join(cwd, "app.js"), "console.log(1);");
  writeFileSync(join(cwd, "nothing.wasm"), "");
});

async function mistake(words: readonly string[], place = cwd, input = ""): Promise<string> {
  const { stdout, stderr, code } = await memshade(words, { cwd: place, input });
  expect({ words, stdout, code }).toEqual({ words, stdout: "", code: 2 });
  expect(stderr).toMatch(/^memshade: [^\n]*\n$/);
  return stderr.slice("memshade: ".length, -1);
}

describe("who names no run", () => {
  const place = newFolder();

  /** Records a program below the default folder, `age` hours ago. */
  async function record(name: string, age: number, program: string, ...args: string[]): Promise<string> {
    const out = join("memshade.out", name);
    const { code } = await memshade(["run", "--out", out, join(cwd, program), ...args], { cwd: place });
    expect(code).toBe(0);
    const time = Date.now() / 1000 - age * 3600;
    utimesSync(join(place, out, "run.json"), time, time);
    return out;
  }

  it("is told to record one where there is none", async () => {
    const empty = newFolder();
    const advice = "record one with memshade run program.wasm or memshade node script.js";
    for (const verb of ["report", "top"])
      expect(await mistake([verb], empty)).toBe(`no run was named and none is in memshade.out: ${advice}`);
    writeFileSync(join(empty, "memshade.out"), "somebody's notes");
    expect(await mistake(["report"], empty)).toContain("none is in memshade.out");
    expect(await mistake(["diff"], empty)).toBe(
      "no runs were named and no two of one program are in memshade.out: memshade diff OLD NEW compares any two",
    );
  });

  it("gets the newest one, and of diff the two newest of one program, and is told which", async () => {
    const oldest = await record("z", 9, "hashmap.wasm", "100");
    const older = await record("y", 5, "hashmap.wasm", "200");
    const newer = await record("a", 3, "hashmap.wasm", "300");
    const newest = await record("b", 1, "pair.wasm");
    mkdirSync(join(place, "memshade.out/no-run"));

    const said = `memshade: the newest run: ${newest}\n`;
    for (const words of [["report"], ["report", "--json"], ["top"], ["top", "--by", "leak"]]) {
      const { stdout, stderr, code } = await memshade(words, { cwd: place });
      expect({ stderr, code }).toEqual({ stderr: said, code: 0 });
      expect(stdout).toBe((await memshade([words[0], newest, ...words.slice(1)], { cwd: place })).stdout);
    }
    const { stdout, stderr } = await memshade(["diff"], { cwd: place });
    expect(stderr).toBe(`memshade: the two newest runs of hashmap: ${older} and ${newer}\n`);
    expect(stdout).toBe((await memshade(["diff", older, newer], { cwd: place })).stdout);
    expect(stdout).not.toBe((await memshade(["diff", oldest, newer], { cwd: place })).stdout);
    expect(await mistake(["diff", older], place)).toBe(
      `only one run was named: memshade diff ${older} NEW, or none for the two newest of one program`,
    );
  });
});

describe("who types a program where something else belongs", () => {
  it.each([
    [
      ["node", "pair.wasm"],
      "pair.wasm is a WebAssembly module, not a script: memshade run pair.wasm, or memshade node with the script that loads it",
    ],
    [["run", "app.js"], "app.js is a script, not a WebAssembly module: memshade node app.js"],
    [
      ["report", "pair.wasm"],
      "pair.wasm is a program, not a recorded run: record one with: memshade run pair.wasm",
    ],
    [
      ["report", "nothing.wasm"],
      "nothing.wasm is not a MemProf profile, and none of DHAT, pprof, heaptrack, jemalloc or gperftools: it is empty",
    ],
    [
      ["top", "--by", "dead", "app.js"],
      "app.js is a program, not a recorded run: record one with: memshade node app.js",
    ],
    [
      ["diff", "pair.wasm", "pair.wasm"],
      "pair.wasm is a program, not a recorded run: record one with: memshade run pair.wasm",
    ],
    [["pair.wasm"], "unknown command 'pair.wasm': memshade run pair.wasm runs this file"],
    [["app.js", "--port", "1"], "unknown command 'app.js': memshade node app.js runs this file"],
  ])("%j is told what to type", async (words, sentence) => {
    expect(await mistake(words)).toBe(sentence);
  });

  it("is answered by the file's name where it holds something else", async () => {
    const place = newFolder();
    writeFileSync(join(place, "empty.wasm"), "");
    expect(await mistake(["node", "empty.wasm"], place)).toMatch(
      /^empty\.wasm is a WebAssembly module, not a script: /,
    );
  });
});

describe("options behind the program", () => {
  const warning = (names: string, line: string) =>
    `memshade: ${names} was passed to the program; to pass it to memshade, put it before the program: ${line}\n`;

  it.each([
    [["pair.wasm", "--tool", "waste"], warning("--tool", "memshade run --tool waste pair.wasm")],
    [
      [
        "hashmap.wasm",
        "90",
        "--tool=workingset",
        "--locality",
        "--locality-rate",
        "1",
        "--who",
        "--rows",
        "5",
      ],
      warning(
        "--tool, --locality, --locality-rate, --who",
        "memshade run --tool=workingset --locality --locality-rate 1 --who hashmap.wasm",
      ),
    ],
    [["pair.wasm", "--help", "--", "--tool"], ""],
    [["--", "pair.wasm", "--tool", "waste"], ""],
    [["--tool", "alloc", "pair.wasm", "--tool", "waste"], ""],
  ])("run %j: the program gets them, with a warning where they look like memshade's", async (words, said) => {
    const { stderr, code } = await memshade(["run", "--quiet", "--out", "behind", ...words], { cwd });
    expect({ stderr, code }).toEqual({
      stderr: said,
      code: 0,
    });
  });

  it("goes for scripts too", async () => {
    const { stdout, stderr } = await memshade(["node", "app.js", "--out", "x"], { cwd });
    expect(stdout).toBe("1\n");
    expect(stderr).toContain(warning("--out", "memshade node --out x app.js"));
  });
});

describe("the end of a run", () => {
  const program = fileURLToPath(new URL("../fixtures/programs/debug/lines.wasm", import.meta.url));
  const written = "memshade: profile written to end; see it with: memshade report end\n";

  beforeAll(() => {
    writeFileSync(
      join(cwd, "lines.mjs"),
      `import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1" });
const module = new WebAssembly.Module(readFileSync(${JSON.stringify(program)}));
wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));`,
    );
  });

  it.each([
    ["run", program],
    ["node", "lines.mjs"],
  ])("%s shows what its report begins with", async (verb, file) => {
    const { stderr } = await memshade([verb, "--out", "end", file], { cwd });
    const [, said] = stderr.split(written);
    const lines = said!.replace(/^memshade: details: .*\n/m, "").replaceAll("memshade: ", "");
    const { stdout } = await memshade(["report", "end"], { cwd });
    const summary = /\nSummary\n((?: {2}.*\n)+)/.exec(stdout)?.[1] ?? "";
    expect(lines.split(/\s+/)).toEqual(summary.trimStart().split(/\s+/));
    expect(said).toContain("memshade: details: memshade report end; meaning: memshade explain leak\n");
    const quiet = await memshade([verb, "--quiet", "--out", "end", file], { cwd });
    expect(quiet.stderr).not.toContain("memshade:");
  });

  it("has the line of the program's own code", async () => {
    const { stderr } = await memshade(["run", "--out", "end", program], { cwd });
    expect(stderr).toContain("memshade: leak  120 B  15 blocks of new_item (lines.c:11) are lost\n");
  });

  it("does not take what the host reads for unread", async () => {
    const copy = fileURLToPath(new URL("../control/copy.wasm", KERNELS));
    const input = "a".repeat(100_000);
    const { stdout, stderr } = await memshade(["run", "--out", "end", copy], { cwd, input });
    expect(stdout).toBe(`${input}${"x".repeat(40_000)}`);
    expect(stderr).toMatch(/never-read +48\.8 KiB {2}1 block of lose /);
    expect(stderr.match(/^memshade: (never-read|unused)/gm)).toEqual(["memshade: never-read"]);
  });

  it("says so where there are none", async () => {
    const { stderr } = await memshade(["run", "--out", "end", "bulk.wasm"], { cwd });
    expect(stderr).toBe(
      `${written}memshade: no findings among blocks\n` +
        "memshade: 98.3 % of 398,956 accesses are to blocks of main (+0x43): --tool waste tells whether any are in vain\n",
    );
  });
});

describe("addresses without the file that they are in", () => {
  const sentence =
    "the file that the addresses are in is missing: memshade symbolize --binary app.wasm 0x1a2b";

  it("are a mistake, as arguments and from a pipe", async () => {
    expect(await mistake(["symbolize", "0x1a2b"])).toBe(sentence);
    expect(await mistake(["symbolize"])).toBe(sentence);
    const piped = await memshade(["symbolize"], { cwd, input: "0x1a2b\n" });
    expect({ stderr: piped.stderr, code: piped.code }).toEqual({
      stderr: `memshade: ${sentence}\n`,
      code: 2,
    });
  });

  it("may have it in front of each of them", async () => {
    for (const [words, input] of [
      [["symbolize", "pair.wasm 0x100"], ""],
      [["symbolize"], "pair.wasm 0x100\nwhat?\n"],
    ] as const) {
      const { stdout, stderr, code } = await memshade(words, { cwd, input });
      expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
      expect(stdout).toMatch(/^main\n/);
    }
  });
});
