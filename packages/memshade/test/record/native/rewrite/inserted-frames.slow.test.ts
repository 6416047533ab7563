import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openObject } from "../../../../src/code/objects/index.ts";
import type { InsertedTool } from "../../../../src/record/native/native-tool.ts";
import { rewriteFile } from "../../../../src/record/native/rewrite/rewrite-file.ts";
import { nativeTool } from "../../../../src/record/native/tools/index.ts";
import { Clock, SHARED } from "../../../../src/record/native/tools/working-set/layout.ts";
import { canCompile } from "../support/record.ts";

const gdb = spawnSync("gdb", ["-batch", "-nx", "-ex", "python print(1)"], { encoding: "utf8" });
const hasGdb = gdb.stdout?.trim() === "1";
if (!hasGdb) console.warn("SKIPPED: gdb with Python is not installed: it walks no stack from inserted code");

const STEPS = 1500;
/** Number of accesses within the steps after which the parent is asked to end an interval. */
const ACCESSES = 60;

/** A loop three calls deep that uses all registers and flags; strings are copied and compared. */
const SOURCE = `
#include <string.h>
struct node { int value; struct node *next; int pad[14]; };
static struct node nodes[3];
static int table[256];
static char from[64], to[64];
__attribute__((noinline)) long inner(struct node *n, const int *t, long a, long b, long c, long d) {
  long e = a * 3, f = b ^ c, g = d + 7, h = a - d, s = 0;
  for (; n; n = n->next) {
    e += n->value * t[e & 255]; f ^= n->pad[f & 7] + e; g += f ^ t[g & 255]; h = h * 5 + g; n->pad[h & 7] = (int)h;
    a += b; b ^= c + h; c += d * e; d ^= a; s += a ^ d;
  }
  long count = 24, first = (long)from, second = (long)to;
  __asm__ volatile("rep movsb" : "+c"(count), "+S"(first), "+D"(second) : : "memory");
  count = 24, first = (long)from, second = (long)to;
  __asm__ volatile("repe cmpsb" : "+c"(count), "+S"(first), "+D"(second) : : "memory", "cc");
  return e ^ f ^ g ^ h ^ s ^ a ^ b ^ c ^ d ^ count;
}
__attribute__((noinline)) long middle(int k) { long s = 1; while (k-- > 0) s = s * 3 + inner(nodes, table, s, k, k, 5); return s; }
__attribute__((noinline)) long outer(int k) { return middle(k) ^ 1; }
int main(int n) { nodes[0].next = nodes + 1; nodes[1].next = nodes + 2; return outer(20 * n) == 5; }
`;

/** Maps the shadows, which otherwise a copy of the dynamic linker does. */
const mapShadows = (tool: InsertedTool): string => {
  const { shadows } = nativeTool(tool.name, tool.options);
  const calls = shadows.map(
    ({ address, bytes }) => `mmap((void *)${address}l, ${bytes}l, 3, 0x4032, -1, 0);`,
  );
  return `#include <sys/mman.h>\n__attribute__((constructor)) void map(void) { ${calls.join(" ")} }\n`;
};

/** Prints the stack pointer and the functions of the stack before each of some instructions. */
const stepping = (address: number): string => `
gdb.execute("break *${address}")
gdb.execute("run", to_string=True)
gdb.execute("delete")
if is_counting:
    gdb.execute("set *(long *)${SHARED + Clock.left} = ${ACCESSES}")
for step in range(${STEPS}):
    frame, names = gdb.newest_frame(), []
    moved = int(gdb.parse_and_eval("(long)$rsp"))
    while frame is not None and len(names) < 10:
        names.append(frame.name() or "?")
        frame = None if names[-1] == "main" else frame.older()
    print("STEP", moved, *names)
    gdb.execute("stepi", to_string=True)
`;

/** The innermost frames may be a part of the new code without a name, and its callees. */
function isWhole(names: readonly string[]): boolean {
  const [main, outer, middle, inner] = names.toReversed();
  if (main !== "main" || outer !== "outer" || names.length > 5) return false;
  if (names[0] === "inner" && names.length !== 4) return false;
  return inner === undefined ? names.length === 3 : middle === "middle";
}

describe.skipIf(!canCompile || !hasGdb)("a debugger that stops inside of inserted code", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-inserted-"));
  const program = join(folder, "program");
  beforeAll(() => {
    writeFileSync(`${program}.c`, SOURCE);
    const options = ["-O2", "-fomit-frame-pointer", "-no-pie"];
    expect(spawnSync("gcc", [...options, `${program}.c`, "-o", program]).status).toBe(0);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const tools: readonly InsertedTool[] = [
    { name: "heap", options: {} },
    { name: "heap", options: { includeStack: true } },
    { name: "working-set", options: {} },
    { name: "working-set", options: { isCounting: true } },
  ];
  for (const tool of tools)
    it(`finds all callers at each instruction (${tool.name} ${Object.keys(tool.options)})`, () => {
      const rewritten = join(folder, "rewritten");
      const { bytes } = rewriteFile(readFileSync(program), nativeTool(tool.name, tool.options).plan);
      writeFileSync(rewritten, bytes, { mode: 0o755 });
      const library = join(folder, "shadows.so");
      writeFileSync(`${library}.c`, mapShadows(tool));
      expect(spawnSync("gcc", ["-shared", "-fPIC", `${library}.c`, "-o", library]).status).toBe(0);
      const object = openObject(bytes);
      const newText = object.sections.find(({ name }) => name === ".text.new")!;
      const symbols = object.symbols();
      const inner = [...symbols.addresses].find(
        (address) => address >= newText.address && symbols.find(address)?.name === "inner",
      )!;
      const script = join(folder, "steps.py");
      const isCounting = tool.options.isCounting === true;
      writeFileSync(script, `is_counting = ${isCounting ? 1 : 0}\n${stepping(inner)}`);
      const { stdout, stderr } = spawnSync(
        "gdb",
        ["-batch", "-nx", "-ex", `set exec-wrapper env LD_PRELOAD=${library}`, "-x", script, rewritten],
        { encoding: "utf8" },
      );
      const steps = [...stdout.matchAll(/^STEP (\d+) (.*)$/gm)].map(([, rsp, names]) => ({
        rsp: Number(rsp),
        names: names.split(" "),
      }));
      expect(steps, stderr).toHaveLength(STEPS);
      const wrong = steps.filter(({ names }) => !isWhole(names));
      expect([...new Set(wrong.map(({ names }) => names.join(" ")))]).toEqual([]);
      const inInner = steps.filter(({ names }) => names[0] === "inner");
      const returned = steps.findIndex(({ names }) => names[0] === "middle");
      expect(returned, "the function ends, with its strings").toBeGreaterThan(0);
      expect(new Set(inInner.map(({ rsp }) => rsp)).size).toBeGreaterThan(isCounting ? 4 : 3);
      if (isCounting) expect(steps.some(({ names }) => names.length === 5)).toBe(true);
    });
});
