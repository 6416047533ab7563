import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memshade } from "./support/command-line.ts";

const WASM = ["--target=wasm32-wasip1", "--sysroot=/", "-I/usr/include/wasm32-wasi"];
const canBuild =
  spawnSync("clang-22", ["--version"]).status === 0 &&
  spawnSync("wasm-ld-22", ["--version"]).status === 0 &&
  existsSync("/usr/lib/wasm32-wasi/libc.a");
if (!canBuild)
  console.warn("SKIPPED: clang-22 with WASI libraries is not installed, no program is built twice");

const COPY = `static char *copy(const char *s) {
  size_t n = strlen(s) + 1;
  char *p = malloc(n);
  memcpy(p, s, n);
  return p;
}
`;
const PUSH = `struct node { struct node *next; char *name; };
static struct node *push(struct node *head, const char *name) {
  struct node *n = malloc(sizeof *n);
  n->next = head;
  n->name = copy(name);
  return n;
}
`;
const WORK = (size: number) => `__attribute__((noinline)) static int work(int k) {
  char *buf = malloc(${size} * k);
  memset(buf, k, 100 * k);
  int s = buf[k];
  free(buf);
  return s;
}
`;
const MAIN = `int main(void) {
  struct node *h = 0;
  for (int i = 0; i < 50; i++) h = push(h, "hello");
  int s = 0;
  for (int i = 1; i < 20; i++) s += work(i);
  printf("%d %s\\n", s, h->name);
  while (h) { struct node *n = h->next; free(h->name); free(h); h = n; }
  return 0;
}
`;
const INCLUDES = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";

const BEFORE = INCLUDES + COPY + PUSH + WORK(100) + MAIN;
/** All code is on other lines: lines were added above, between and inside functions. */
const MOVED =
  `${INCLUDES}\n/* The program\n * that moved. */\n${WORK(100)}\n\n` +
  COPY +
  PUSH.replace("  struct node *n =", "  if (!name)\n    abort();\n  struct node *n =") +
  MAIN;
/** Two functions have other names; one of them has a further line. */
const OTHER_NAMES = BEFORE.replaceAll("push(", "prepend(")
  .replaceAll("work(", "labour(")
  .replace("  memset(buf", "  if (!buf)\n    abort();\n  memset(buf");
const CHANGED = MOVED.replace("malloc(100 * k)", "malloc(200 * k)");

let folder: string;
const at = (name: string) => join(folder, name);

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  expect(status, `${command} ${args.join(" ")}\n${stderr}`).toBe(0);
  return stdout;
}

async function record(source: string, name: string, file = "app.c"): Promise<string> {
  writeFileSync(at(file), source);
  run("clang-22", [...WASM, "-O2", "-g", "-c", at(file), "-o", at("app.o")]);
  const builtins = run("clang-22", ["--target=wasm32-wasip1", "-print-libgcc-file-name"]).trim();
  const objects = ["-L/usr/lib/wasm32-wasi", "/usr/lib/wasm32-wasi/crt1-command.o", at("app.o"), "-lc"];
  run("wasm-ld-22", [...objects, ...(existsSync(builtins) ? [builtins] : []), "-o", at("app.wasm")]);
  const tools = ["--tool", "heap,waste,workingset", "--contexts", "--who"];
  const ran = await memshade(["run", "--quiet", ...tools, "--out", at(name), at("app.wasm")], {
    cwd: folder,
  });
  expect(ran.code, ran.stderr).toBe(0);
  return at(name);
}

async function diff(...args: readonly string[]): Promise<{
  rows: { kind: string; change: number; old: unknown; new: unknown }[];
  notTracked: { old: string[] };
  findings: { new: unknown[]; gone: unknown[]; renamed?: { old: string; new: string }[] };
  tools: Record<string, { rows: unknown[] }>;
}> {
  const { code, stdout, stderr } = await memshade(["diff", ...args, "--json"], { cwd: folder });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

describe.skipIf(!canBuild)("memshade diff of a program that was built anew in the same place", () => {
  let runs: { before: string; moved: string; changed: string; renamed: string; otherNames: string };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "memshade-"));
    runs = {
      before: await record(BEFORE, "before"),
      moved: await record(MOVED, "moved"),
      renamed: await record(MOVED, "renamed", "other.c"),
      changed: await record(CHANGED, "changed"),
      otherNames: await record(OTHER_NAMES, "other-names"),
    };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(["site", "path", "function"])(
    "finds no difference in code that only moved, by %s",
    async (group) => {
      for (const other of [runs.moved, runs.renamed]) {
        const heap = await diff(runs.before, other, "--group", group, "--tool", "heap");
        expect(heap.rows).toEqual([]);
        expect(heap.findings).toMatchObject({ new: [], gone: [] });
      }
      expect((await diff(runs.moved, runs.renamed, "--group", group, "--by", "dead")).rows).toEqual([]);
      expect((await diff(runs.moved, runs.renamed, "--group", group, "--by", "first-touch")).rows).toEqual(
        [],
      );
    },
  );

  it("finds no difference in stores that only moved", async () => {
    for (const by of ["dead", "silent", "written"])
      expect((await diff(runs.before, runs.moved, "--by", by)).rows, by).toEqual([]);
  });

  it("finds the one place that changed, with its lines of both builds", async () => {
    const { rows, notTracked } = await diff(runs.before, runs.changed, "--by", "bytes");
    const line = (source: string, text: string) =>
      source.split("\n").findIndex((each) => each.includes(text)) + 1;
    expect(rows).toMatchObject([
      {
        kind: "changed",
        change: 100 * 190,
        old: { stack: [{ function: "work", line: line(BEFORE, "malloc(100 * k)") }] },
        new: { stack: [{ function: "work", line: line(CHANGED, "malloc(200 * k)") }] },
      },
    ]);
    expect(notTracked.old).toEqual([]);
  });

  it("names functions that have other names, and shows all tools that both have", async () => {
    const { tools, findings } = await diff(runs.before, runs.otherNames);
    expect(Object.keys(tools)).toEqual(["heap", "waste", "workingset"]);
    expect(tools.heap!.rows).toEqual([]);
    expect(tools.waste!.rows).toEqual([]);
    expect(findings).toMatchObject({ new: [], gone: [] });
    const renamed = findings.renamed!.map(({ old, new: now }) => `${old} → ${now}`);
    expect(renamed.sort()).toEqual(["push → prepend", "work → labour"]);
    const { stdout } = await memshade(["diff", runs.before, runs.otherNames], { cwd: folder });
    expect(stdout).toMatch(/^No difference in the heap [\s\S]*^No difference in waste /m);
    expect(stdout).toMatch(/^Renamed: 2 functions\n(?: {2}\w+ is \w+ now\n){2}/m);
  });

  it("of a run against itself is empty, for every tool", async () => {
    for (const by of ["bytes", "dead", "redundant", "new", "first-touch", "share"])
      expect((await diff(runs.changed, runs.changed, "--by", by, "--group", "path")).rows, by).toEqual([]);
  });
});
