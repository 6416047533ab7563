import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadObject } from "../../../src/names/load/objects.ts";
import { readRawDumps } from "../../../src/profile/formats/memprof-raw/index.ts";
import { memshade } from "../../cli/support/command-line.ts";

// Reports of programs that the test compiles and runs; they allocate in a library without debug information.

const folder = mkdtempSync(join(tmpdir(), "memshade-own-reports-"));
afterAll(() => rmSync(folder, { recursive: true }));

function run(tool: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(tool, args, { encoding: "utf8", cwd: folder, env: { ...process.env, ...env } });
}

const FLAGS = [
  ..."-g -O1 -fmemory-profile -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -Wl,--build-id".split(" "),
  "-std=c++17",
];

const TEXTS = `
#include <iostream>
#include <locale>
#include <map>
#include <sstream>
#include <string>
static std::map<std::string, std::string> *table;
__attribute__((noinline)) void fill(int count) {
  for (int i = 0; i < count; i++)
    (*table)["a key that is too long for the string itself " + std::to_string(i)] = std::string(100, 'x');
}
__attribute__((noinline)) std::string text(int number) {
  std::ostringstream out;
  out << "the number " << number << " in a text that is longer than strings are in themselves";
  return out.str();
}
int main(int count, char **) {
  table = new std::map<std::string, std::string>;
  fill(100 * count);
  size_t total = 0;
  for (int i = 0; i < 50; i++) total += text(i).size();
  std::locale other(std::locale::classic(), new std::numpunct<char>);
  std::cout << total << "\\n";
  delete table;
}`;

interface Report {
  hotCold: { sites: { frame: { function: string; line?: number } }[] };
  totals: { allocations: number; allocatedBytes: number };
  sites: { allocCount: number; totalSize: number; stack: { function: string; module?: string }[] }[];
}

function recordedIn(profile: string) {
  const mibs = readRawDumps(readFileSync(profile)).flatMap((dump) => dump.mibs.map(({ mib }) => mib));
  return {
    blocks: mibs.reduce((sum, { allocCount }) => sum + allocCount, 0),
    bytes: mibs.reduce((sum, { totalSize }) => sum + Number(totalSize), 0),
  };
}

const summedUp = ({ sites }: Pick<Report, "sites">) => ({
  blocks: sites.reduce((sum, { allocCount }) => sum + allocCount, 0),
  bytes: sites.reduce((sum, { totalSize }) => sum + totalSize, 0),
});

function profileAs(name: string, args: readonly string[] = [], program = "./texts"): string {
  expect(run(program, args, { MEMPROF_OPTIONS: `log_path=${folder}/raw` })).toMatchObject({ status: 0 });
  const [raw] = readdirSync(folder).filter((one) => one.startsWith("raw."));
  renameSync(join(folder, raw!), join(folder, name));
  return join(folder, name);
}

function compile(name: string, source: string, flags: readonly string[] = []): boolean {
  writeFileSync(join(folder, `${name}.cpp`), source);
  return run("clang++-22", [...FLAGS, ...flags, `${name}.cpp`, "-o", name]).status === 0;
}

const hasRuntime = compile("texts", TEXTS);
if (!hasRuntime) console.warn("SKIPPED: clang++-22 has no runtime for memory profiles (libclang-rt-22-dev)");

describe.skipIf(!hasRuntime)("reports of a program that allocates in libstdc++", () => {
  let profile: string;
  beforeAll(() => {
    profile = profileAs("one.profraw");
  });

  async function reportOf(file: string, ...args: readonly string[]): Promise<Report> {
    const { stdout } = await memshade(["report", file, "--json", "--full", ...args], { cwd: folder });
    return JSON.parse(stdout) as Report;
  }

  it("have every block, with the program named or found beside the profile", async () => {
    const recorded = recordedIn(profile);
    for (const args of [[], ["--binary-path", "texts"]]) {
      const report = await reportOf(profile, ...args);
      expect(summedUp(report)).toEqual(recorded);
      expect(report.totals).toMatchObject({
        allocations: recorded.blocks,
        allocatedBytes: recorded.bytes,
      });
    }
  });

  it("name the function of the library, and do not give its blocks to whoever called it", async () => {
    const { sites } = await reportOf(profile);
    const leaves = sites.map(({ stack }) => stack[0]!);
    expect(leaves.some(({ module }) => module?.startsWith("libstdc++.so"))).toBe(true);
    expect(leaves.some(({ function: name }) => name.includes("operator new"))).toBe(false);
    expect(leaves.some(({ function: name }) => name === "text(int)")).toBe(false);
  });

  it("have every block in top and diff too", async () => {
    const recorded = recordedIn(profile);
    const top = await memshade(["top", profile, "--by", "count", "-n", "1000", "--json"], { cwd: folder });
    const { rows } = JSON.parse(top.stdout) as { rows: Report["sites"] };
    expect(summedUp({ sites: rows })).toEqual(recorded);
    const later = profileAs("later.profraw", ["more"]);
    const diff = await memshade(["diff", profile, later, "--json", "-n", "1000"], { cwd: folder });
    expect(JSON.parse(diff.stdout)).toMatchObject({
      totals: { blocks: { old: recorded.blocks, new: recordedIn(later).blocks } },
    });
  });

  it("have the blocks of a memshade profile too, whose libraries had no binary", async () => {
    const args = ["merge", profile, "--binary", "texts", "--format", "memshade", "-o", "merged.memshade"];
    expect(await memshade(args, { cwd: folder })).toMatchObject({ code: 0 });
    const report = await reportOf("merged.memshade");
    expect(summedUp(report)).toEqual(recordedIn(profile));
    expect(JSON.stringify(report.sites)).toMatch(/"function":"\[[0-9a-f]{8}\]\+0x/);
  });

  it("tell the compiler about calls that it compiles alone", async () => {
    const { hotCold } = await reportOf(profile);
    expect(hotCold.sites.map(({ frame }) => frame.function)).toContain("main");
    expect(hotCold.sites.filter(({ frame }) => frame.line === undefined)).toEqual([]);
  });

  it("put several processes together, each with its own addresses", async () => {
    const other = profileAs("other.profraw");
    const both = join(folder, "both.profraw");
    writeFileSync(both, Buffer.concat([profile, other].map((file) => readFileSync(file))));
    const [one, two] = [await reportOf(profile), await reportOf(both)];
    expect(summedUp(two)).toEqual(recordedIn(both));
    // LLVM's tool, and so `show`, rejects such a file.
    const shown = await memshade(["show", both, "--binary", "texts"], { cwd: folder });
    expect(shown.stderr).toContain("memprof raw profile has different segment information");
    // Outer frames are unreliable: libraries have no frame pointers.
    const leavesOf = ({ sites }: Report) => new Set(sites.map(({ stack }) => stack[0]!.function));
    expect(leavesOf(two)).toEqual(leavesOf(one));
  });

  it("have every block where nothing is named: modules and offsets", async () => {
    const elsewhere = join(folder, "elsewhere");
    mkdirSync(elsewhere);
    copyFileSync(profile, join(elsewhere, "profile"));
    const env = { PATH: process.env.PATH ?? "" };
    const { stdout } = await memshade(["report", "profile", "--json", "--full"], { cwd: elsewhere, env });
    const report = JSON.parse(stdout) as Report & { notTracked: string[] };
    expect(summedUp(report)).toEqual(recordedIn(profile));
    const { buildId } = loadObject(join(folder, "texts")).object;
    expect(report.notTracked.join()).toContain(`1 program was not found (build id ${buildId})`);
    expect(stdout).toContain(`[${buildId!.slice(0, 8)}]+0x`);
  });

  it("take the program from debuginfod's cache", async () => {
    const { buildId } = loadObject(join(folder, "texts")).object;
    const [elsewhere, cache] = [join(folder, "fetched"), join(folder, "cache")];
    mkdirSync(elsewhere);
    mkdirSync(join(cache, buildId!), { recursive: true });
    copyFileSync(profile, join(elsewhere, "profile"));
    copyFileSync(join(folder, "texts"), join(cache, buildId!, "debuginfo"));
    const env = { DEBUGINFOD_CACHE_PATH: cache };
    const { stdout } = await memshade(["report", "profile"], { cwd: elsewhere, env });
    expect(stdout).toContain("fill (texts.cpp:10) via std::map::operator[]");
    expect(stdout).toMatch(/Binaries +.*debuginfo$/m);
  });

  it("say 'or more' of counters that are full", async () => {
    const flags = ["-mllvm", "-memprof-histogram", "-mllvm", "-memprof-use-callbacks=true"];
    const source = `#include <cstdlib>
int main() {
  volatile long *all = (volatile long *)malloc(64);
  for (int i = 0; i < 1000; i++) all[2] = i;
  all[4] = 1;
}`;
    expect(compile("full", source, flags)).toBe(true);
    const full = profileAs("full.profraw", [], "./full");
    const { stdout } = await memshade(["report", full], { cwd: folder });
    expect(stdout).toContain("most at byte 16: 255 or more");
    expect(stdout).toMatch(/Accesses +[\d,]+ or more to heap blocks/);
  });
});
