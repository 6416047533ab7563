import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { WalkEnd } from "../../../../src/record/native/layout.ts";
import { canStop, type Stop, type StoppedProgram, stopsByGdb } from "./stops-by-gdb.ts";

if (!canStop)
  console.warn("SKIPPED: gdb with Python and gcc for x86-64 Linux are not installed: no stacks are compared");

/** Number of allocations at which each program is stopped. */
const STOPS = Number(process.env.MEMSHADE_STOPS ?? 200);
const SEED = Number(process.env.MEMSHADE_SEED ?? 1);

/** gdb's stack in recorded form: without the 0 that `makecontext` puts in front of the first function. */
function expectedStack({ gdb }: Stop): number[] {
  const addresses = gdb.map(([pc]) => pc);
  while (addresses.at(-1) === 0) addresses.pop();
  return addresses;
}

/** Context of a stack, root first. A recursive call is on the path once. */
function folded(stack: readonly number[]): number[] {
  const path: number[] = [];
  for (const address of stack.toReversed()) {
    const at = path.indexOf(address);
    if (at >= 0) path.length = at + 1;
    else path.push(address);
  }
  return path;
}

/** A site is the last byte of a call; the site of interrupted code is its own address. */
function isContextOf(stack: readonly number[], context: readonly number[]): boolean {
  const path = folded(stack).toReversed();
  return (
    path.length === context.length &&
    path.every((address, i) => context[i] === address - 1 || context[i] === address)
  );
}

async function expectEqualStacks(program: Omit<StoppedProgram, "count" | "seed">, least: number) {
  const { stops, said } = await stopsByGdb({ ...program, count: STOPS, seed: SEED });
  const compared = stops.filter(({ unrecorded }) => !unrecorded);
  expect(compared.length, said).toBeGreaterThanOrEqual(Math.min(least, STOPS));
  for (const stop of compared) {
    const stack = expectedStack(stop);
    const told = stop.gdb.map(([pc, , name, object]) => `${pc.toString(16)} ${name} ${object}`).join("\n");
    expect({ stack: stop.recorded, end: stop.end }, told).toEqual({ stack, end: WalkEnd.whole });
    expect(isContextOf(stack, stop.context), told).toBe(true);
  }
}

const PYTHON = `
import json, sqlite3, ctypes, re, threading
c = sqlite3.connect(":memory:")
c.execute("create table t(a, b)")
c.executemany("insert into t values(?, ?)", [(i, str(i) * 20) for i in range(500)])
c.create_function("twice", 1, lambda text: text * 2)
print(len(c.execute("select twice(b) from t order by b").fetchall()))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 50)(*range(50, 0, -1))
ctypes.CDLL(None).qsort(numbers, 50, 4, compare(lambda a, b: [a[0] - b[0], "x" * 600][0]))
threads = [threading.Thread(target=lambda: [json.loads(json.dumps(list(range(200)))) for _ in range(20)]) for _ in range(3)]
[t.start() for t in threads], [t.join() for t in threads]
`;
const SQL = `create table t(a, b);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000)
  insert into t select x, hex(randomblob(20)) from c;
create index i on t(b);
select json_group_array(a) from t group by a % 7;`;
const PERL = `my %h; $h{"k$_"} = [1 .. $_ % 7] for 1 .. 500; print join ",", sort { $a cmp $b } map { sprintf("%05d", length $_) } keys %h;
local $SIG{ALRM} = sub { push @l, "x" x 100 for 1 .. 20 }; kill ALRM => $$; eval { die { code => 5 } } for 1 .. 50;`;
const CC1 = spawnSync("gcc", ["-print-prog-name=cc1"], { encoding: "utf8" }).stdout?.trim() ?? "";
const SOURCE = fileURLToPath(new URL("../programs/several.c", import.meta.url));
const INCLUDES = ["-I/usr/include", "-imultiarch", "x86_64-linux-gnu"];

describe.skipIf(!canStop)("recorded stacks are those of gdb", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-gdb-"));
  const script = join(folder, "script");
  afterAll(() => rmSync(folder, { recursive: true }));

  for (const [how, options] of [
    ["-O2, with a build id", ["-O2"]],
    ["-O0, without a build id", ["-O0", "-Wl,--build-id=none"]],
    [
      "-O2 at fixed addresses, with gaps between its segments",
      ["-O2", "-no-pie", "-Wl,-z,max-page-size=0x200000"],
    ],
  ] as const)
    it(`in a C++ program that allocates from frames of all kinds (${how})`, async () => {
      const program = join(folder, "frames");
      const source = fileURLToPath(new URL("../programs/frames.cpp", import.meta.url));
      spawnSync("g++", ["-g", "-pthread", ...options, source, "-o", program], { stdio: "inherit" });
      await expectEqualStacks({ command: [program], gap: 5 }, 200);
    });

  const programs: readonly (readonly [
    file: string,
    args: readonly string[],
    gap: number,
    content: string,
  ])[] = [
    ["/usr/bin/python3", [script], 10, PYTHON],
    ["/usr/bin/perl", [script], 5, PERL],
    ["/usr/bin/sqlite3", [":memory:", SQL], 10, ""],
    ["/usr/bin/git", ["log", "--stat", "-n", "5"], 5, ""],
    ["/usr/bin/make", ["-f", script], 5, "all: a b\na b:\n\t@echo $@\n"],
    [CC1, ["-quiet", "-O2", SOURCE, ...INCLUDES, "-o", "/dev/null"], 20, ""],
  ];
  for (const [file, args, gap, content] of programs) {
    const isThere = existsSync(file);
    if (!isThere) console.warn(`SKIPPED: ${file} is not installed: its stacks are not compared with gdb's`);
    it.skipIf(!isThere)(`in ${file}`, async () => {
      writeFileSync(script, content);
      await expectEqualStacks(
        { command: [file, ...args], gap, cwd: fileURLToPath(new URL(".", import.meta.url)) },
        50,
      );
    });
  }
});
