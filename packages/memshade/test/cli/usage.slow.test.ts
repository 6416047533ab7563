import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MEMSHADE_VERSION } from "../../src/profile/model/version.ts";
import { MAIN } from "../command.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const LINES = fileURLToPath(new URL("../fixtures/programs/debug/lines.wasm", import.meta.url));
const cwd = newFolder();

describe("the command line", () => {
  it("explains itself", async () => {
    const { stdout, stderr, code } = await memshade(["--help"], { cwd });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    for (const verb of ["run", "node", "instrument", "report", "top"])
      expect(stdout).toMatch(new RegExp(`^  ${verb} `, "m"));
    expect((await memshade(["--version"], { cwd })).stdout).toBe(`${MEMSHADE_VERSION}\n`);
  });

  it("lists its verbs by what they do", async () => {
    const { stdout } = await memshade(["--help"], { cwd });
    const groups = [...stdout.matchAll(/^([A-Z][\w ]+):\n((?: {2}.*\n)+)/gm)].map(([, heading, lines]) => [
      heading,
      [...lines!.matchAll(/^ {2}([a-z-]+) /gm)].map(([, verb]) => verb),
    ]);
    expect(Object.fromEntries(groups)).toMatchObject({
      Record: expect.arrayContaining(["run", "node"]),
      Look: expect.arrayContaining(["report", "view", "top", "tree"]),
      "Compare and gate": expect.arrayContaining(["diff", "check"]),
      "Take elsewhere": expect.arrayContaining(["export", "waste-print"]),
      MemProf: ["merge", "show"],
      "Native files": ["unwind", "symbolize"],
      Help: ["explain", "help"],
    });
  });

  it.each(["run", "node", "instrument", "tree"])("shows examples of %s", async (verb) => {
    const { stdout, code } = await memshade([verb, "--help"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: memshade /);
    expect(stdout).toMatch(new RegExp(`^Examples:\\n  memshade ${verb} `, "m"));
    expect((await memshade(["help", verb], { cwd })).stdout).toBe(stdout);
  });

  it("explains itself in 80 columns", async () => {
    const { stdout } = await memshade(["--help"], { cwd });
    const verbs = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}\w/gm)].map(([, verb]) => verb!);
    expect(verbs).toContain("waste-print");
    for (const verb of verbs.filter((name) => name !== "memshade")) {
      const help = (await memshade([verb, "--help"], { cwd })).stdout;
      expect(`${stdout}${help}`.split("\n").filter((line) => line.length > 80)).toEqual([]);
    }
  });

  it("without a verb shows its help and fails", async () => {
    const { stdout, stderr, code } = await memshade([], { cwd });
    expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
    expect(stderr).toContain("Usage: memshade");
  });

  it.each([
    [["run", "--bogus", "x.wasm"], "unknown option '--bogus'"],
    [["run", "--clok", "wall", "x.wasm"], "unknown option '--clok' (Did you mean --clock?)"],
    [["run"], "missing required argument 'program'"],
    [["run", "--out"], "option '--out <dir>' argument missing"],
    [
      ["run", "--tool", "rust", "x.wasm"],
      "option '--tool <tools>' argument 'rust' is invalid. Known tools are heap, alloc, waste, workingset, objects.",
    ],
    [
      ["run", "--max-blocks", "many", "x.wasm"],
      "option '--max-blocks <n>' argument 'many' is invalid. It must be a positive integer.",
    ],
    [
      ["run", "--locality", "x.wasm"],
      "--locality is an option of the working-set tool: add --tool workingset",
    ],
    [
      ["run", "--interval", "5acc", "x.wasm"],
      "--interval is an option of the working-set tool: add --tool workingset",
    ],
    [
      ["instrument", "--tool", "waste", "--max-intervals", "9", "-o", "x", "x.wasm"],
      "--max-intervals is an option of the working-set tool: add --tool workingset",
    ],
    [
      ["run", "--tool", "workingset", "--locality-rate", "0.5", "x.wasm"],
      "--locality-rate is an option of --locality: add --locality",
    ],
    [
      ["run", "--tool", "workingset", "--locality", "exact", "x.wasm"],
      "--locality exact: --locality takes no method; --locality-rate 1 follows all lines",
    ],
    [
      ["run", "--tool", "workingset", "--locality=exact", "x.wasm"],
      "unknown option '--locality=exact': it takes no value; --locality-rate 1 follows all lines",
    ],
    [
      ["run", "--tool", "workingset", "--locality", "--locality-rate", "0", "x.wasm"],
      "option '--locality-rate <part>' argument '0' is invalid. It must be a part of all lines from 0.000001 to 1, or of 100%.",
    ],
    [["run", "--tool", "workingset", "--owners", "x.wasm"], "unknown option '--owners': --who tells it"],
    [["run", "--tool", "waste", "--ids", "32", "x.wasm"], "unknown option '--ids'"],
    [["run", "--learn", "x.runs", "x.wasm"], "--learn is an option of the waste tool: add --tool waste"],
    [["run", "--env", "=x", "x.wasm"], "--env =x: a name is missing"],
    [["run", "--dir", "::/", "x.wasm"], "--dir ::/: expected HOST or HOST::GUEST"],
    [["instrument", "x.wasm"], "required option '-o, --output <out.wasm>' not specified"],
    [["frobnicate"], "unknown command 'frobnicate': memshade --help lists the commands"],
    [["help", "frobnicate"], "unknown command 'frobnicate': memshade --help lists the commands"],
    [["explain", "leek"], '"leek" is not in the glossary: perhaps leak; memshade explain lists all words'],
    [["rprot", "memshade.out/app.4711"], "unknown command 'rprot' (Did you mean report?)"],
    [["node", "nowhere.js"], "nowhere.js: no such file"],
    [["node", "."], ".: it is a folder without a program"],
    [["merge", "-o", "x", "@."], "@. cannot be read: it is a folder"],
  ])("%j: one line and exit code 2", async (args, message) => {
    const { stdout, stderr, code } = await memshade(args, { cwd });
    expect({ stdout, stderr, code }).toEqual({ stdout: "", stderr: `memshade: ${message}\n`, code: 2 });
  });

  it.runIf(existsSync("/dev/full")).each([
    ["its help", ["--help"]],
    ["an answer", ["symbolize", "--binary", LINES, "0x100"]],
    ["an answer read from a pipe", ["symbolize", "--binary", LINES, "-"]],
    ["a ranking", ["waste-print", "--help"]],
  ])("says in one line that %s cannot be written", (_what, args) => {
    const full = openSync("/dev/full", "w");
    const { stderr, status } = spawnSync(process.execPath, ["--no-warnings", MAIN, ...args], {
      cwd,
      input: "0x100\n",
      stdio: ["pipe", full, "pipe"],
      encoding: "utf8",
    });
    closeSync(full);
    expect({ stderr, status }).toEqual({
      stderr: "memshade: cannot write the output: no space left\n",
      status: 2,
    });
  });
});
