import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { wat } from "../support/assemble.ts";
import { memshade, newFolder } from "./support/command-line.ts";

/** Two tables, one read in part and the other not at all, and counters. */
const SOURCE = `
extern void *malloc(unsigned long);
extern void free(void *);
static const unsigned crc_table[16][1024] = {{1, 2, 3}, {4, 5}};
static const char messages[20000] = "never shown";
int hits;
static volatile int sink;
__attribute__((noinline)) unsigned crc(const unsigned char *p, int n) {
  unsigned c = 0;
  for (int i = 0; i < n; i++) {
    c = crc_table[0][(c ^ p[i]) & 0xff] ^ (c >> 8);
    hits++;
  }
  return c;
}
int main(int argc, char **argv) {
  unsigned char *buffer = malloc(1000);
  for (int i = 0; i < 1000; i++) buffer[i] = i * argc;
  sink = crc(buffer, 1000);
  if (argc > 100) sink = messages[argc] + crc_table[argc & 15][argc];
  free(buffer);
  return 0;
}
`;

const WASM = ["--target=wasm32-wasip1", "--sysroot=/", "-I/usr/include/wasm32-wasi"];
const canBuild =
  spawnSync("clang-22", ["--version"]).status === 0 &&
  spawnSync("wasm-ld-22", ["--version"]).status === 0 &&
  existsSync("/usr/lib/wasm32-wasi/libc.a");
if (!canBuild)
  console.warn("SKIPPED: clang-22 with WASI libraries is not installed, no static data of C is profiled");

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
  return stdout;
}

async function recorded(): Promise<(name: string) => string> {
  const folder = newFolder();
  const at = (name: string) => join(folder, name);
  writeFileSync(at("crc.c"), SOURCE);
  run("clang-22", [...WASM, "-O2", "-g", "-c", at("crc.c"), "-o", at("crc.o")]);
  const builtins = run("clang-22", ["--target=wasm32-wasi", "-print-libgcc-file-name"]).trim();
  const objects = ["-L/usr/lib/wasm32-wasi", "/usr/lib/wasm32-wasi/crt1-command.o", at("crc.o"), "-lc"];
  run("wasm-ld-22", [...objects, ...(existsSync(builtins) ? [builtins] : []), "-o", at("crc.wasm")]);
  const ran = await memshade(["run", "--clock", "wall", "--out", at("run"), at("crc.wasm")], { cwd: folder });
  expect(ran.code, ran.stderr).toBe(0);
  return at;
}

describe("the static data of a program without debug information", () => {
  it("has its exported names, as in the source, and no advice goes by these", async () => {
    const folder = newFolder();
    const program = wat(`(module (memory (export "memory") 1 1)
      (global (export "upper_map") i32 (i32.const 1024))
      (global (export "_ZTI5Shape") i32 (i32.const 1280))
      (data $.rodata (i32.const 1024) "${"x".repeat(40_000)}")
      (func $malloc (export "malloc") (param i32) (result i32) (i32.const 50000))
      (func $free (export "free") (param i32))
      (func (export "_start") (drop (i32.load (i32.const 1028)))
        (call $free (call $malloc (i32.const 8)))))`);
    writeFileSync(join(folder, "names.wasm"), program);
    const ran = await memshade(["run", "--out", "run", "names.wasm"], { cwd: folder });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).not.toContain("unread-data");
    const namesBy = async (key: string) => {
      const { stdout } = await memshade(["top", "run", "--by", key, "--json"], { cwd: folder });
      return JSON.parse(stdout).rows.map((row: { name: string }) => row.name);
    };
    expect(await namesBy("static")).toEqual([".rodata+0x0, from upper_map on"]);
    expect(await namesBy("unread-data")).toEqual([
      ".rodata+0x100, from typeinfo for Shape on",
      ".rodata+0x58, behind upper_map",
    ]);
  });
});

describe.skipIf(!canBuild)("the static data of a C program", () => {
  it("is told by variable, with the table that nobody reads first of all", async () => {
    const at = await recorded();
    const { stdout } = await memshade(["report", at("run")], { cwd: at(".") });
    const [, summary] = stdout.split("\nSummary\n");
    expect(summary).toMatch(
      /^ {2}unread-data +6\d\.\d KiB {2}of 64\.0 KiB of crc_table \(crc\.c:4\) are never read\n {4}→ Make the table smaller/,
    );
    expect(summary).toMatch(/\n {2}unread-data +19\.5 KiB {2}all of messages \(crc\.c:5\) is never read\n/);
    const top = JSON.parse(
      (await memshade(["top", at("run"), "--by", "static", "--json"], { cwd: at(".") })).stdout,
    );
    const rows: ReadonlyMap<string, object> = new Map(
      top.rows.map((row: { name: string }) => [row.name, row]),
    );
    expect(rows.get("crc_table")).toMatchObject({ accesses: 1000, use: "hot", line: 4 });
    expect(rows.get("hits, sink")).toMatchObject({ kind: "shared", bytes: 8 });
    const unread = await memshade(["top", at("run"), "--by", "unread-data", "-n", "2"], { cwd: at(".") });
    expect(unread.stdout).toMatch(/crc_table \(crc\.c:4\) hot\n.* messages \(crc\.c:5\) untouched\n/);
  });

  it("guides a compile: LLVM reads the profile, and clang puts hot and cold data apart", async () => {
    const at = await recorded();
    const old = await memshade(["merge", "-o", at("old.memprofdata"), at("run")], { cwd: at(".") });
    expect(old.stderr).toContain(
      "accesses to static data are left out: --memprof-version 4 has room for them",
    );
    const merged = await memshade(
      ["merge", "--memprof-version", "4", "-o", at("crc.memprofdata"), at("run")],
      { cwd: at(".") },
    );
    expect(merged.stderr).toMatch(/static data: \d+ hot symbols?, \d+ cold ones?\n/);
    const shown = run("llvm-profdata-22", ["show", "--memory", at("crc.memprofdata")]);
    expect(shown).toMatch(/Symbol: +crc_table\n +AccessCount: +1000\n +Locations:\n.*crc\.c'\n +Line: +4\n/);
    expect(shown).toMatch(/KnownColdSymbols:\n( +- .*\n)* +- messages\n/);
    expect((await memshade(["show", at("crc.memprofdata")], { cwd: at(".") })).stdout).toBe(shown);
    const use = [
      `-fmemory-profile-use=${at("crc.memprofdata")}`,
      "-mllvm",
      "-memprof-annotate-static-data-prefix",
    ];
    run("clang-22", [
      "-O2",
      "-g",
      ...use,
      "-fpartition-static-data-sections",
      "-S",
      at("crc.c"),
      "-o",
      at("crc.s"),
    ]);
    const code = readFileSync(at("crc.s"), "utf8");
    expect(code).toMatch(/\.section\t\.rodata\.hot\.,[\s\S]*crc_table:/);
    expect(code).toMatch(/\.section\t\.rodata\.unlikely\.,[\s\S]*messages:/);
  });

  it("is the same of two runs, and missing where its file is", async () => {
    const at = await recorded();
    await memshade(["run", "--clock", "wall", "--out", at("again"), at("crc.wasm")], { cwd: at(".") });
    const [one, two] = ["run", "again"].map((name) => readFileSync(at(`${name}/statics.json`), "utf8"));
    expect(one).toBe(two);
    writeFileSync(at("run/statics.json"), "{}");
    const { stderr, code } = await memshade(["report", at("run")], { cwd: at(".") });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^memshade: .*statics\.json: .*\n$/);
  });
});
