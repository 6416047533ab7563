import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { accessesBySize } from "./support/accesses.ts";
import { drawing } from "./support/drawing.ts";
import { canCompile, memshadeRun } from "./support/record.ts";

const WASM = ["--target=wasm32-wasi", "-O1", "-mno-bulk-memory"];
const hasWasi =
  spawnSync("clang-22", [...WASM, "-x", "c", "-", "-o", "/dev/null"], {
    input: "int main(void) { return 0; }",
  }).status === 0;
if (!hasWasi)
  console.warn("SKIPPED: clang-22 with wasi-libc is not installed: nothing is compared with wasm");

const TYPES = ["uint8_t", "uint16_t", "uint32_t", "uint64_t"];

/**
 * A program with blocks of sizes that no other block has: walks through them up or down, by accesses of fixed sizes that are neither
 * left out nor joined; some are freed, some grow, some live.
 */
function randomProgram(seed: number): { source: string; sizes: number[] } {
  const draw = drawing(seed);
  const sizes: number[] = [];
  const lines: string[] = [];
  const walks: string[] = [];
  const newSize = (): number => {
    const size = 10_000 + 64 * sizes.length + draw(3) * 8 + draw(2) * 4;
    sizes.push(size);
    return size;
  };
  for (let block = 0; block < 24; block++) {
    lines.push(`  char *b${block} = malloc(${newSize()});`);
    for (let walk = draw(4); walk > 0; walk--) {
      const type = TYPES[draw(TYPES.length)];
      const step = 1 + draw(3);
      const trips = 1 + draw(300);
      const body = [
        `sum += at[i * ${step}];`,
        `at[i * ${step}] = i;`,
        `at[i * ${step}] += i;`,
        `if (i & 1) at[i * ${step}] = at[0];`,
        `at[i * ${step}] = at[i * ${step} + 1] ^ sum;`,
      ][draw(5)];
      const name = `walk${walks.length}`;
      walks.push(
        `__attribute__((noinline)) void ${name}(volatile ${type} *at) { for (int i = 0; i < ${trips}; i++) { ${body} } }`,
      );
      lines.push(`  ${name}((void *)b${block});`);
      if (draw(5) === 0) lines.push(`  b${block} = realloc(b${block}, ${newSize()});`);
    }
    if (draw(3) !== 0) lines.push(`  free(b${block});`);
  }
  const source = `#include <stdint.h>\n#include <stdlib.h>\nvolatile uint64_t sum;\n${walks.join("\n")}\nint main(void) {\n${lines.join("\n")}\n  return 0;\n}\n`;
  return { source, sizes };
}

describe.skipIf(!canCompile || !hasWasi)("accesses of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-same-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([1, 3])("are those of the same sources compiled to WebAssembly: program %i", (seed) => {
    const { source, sizes } = randomProgram(seed);
    const c = join(folder, `${seed}.c`);
    writeFileSync(c, source);
    const programs = [join(folder, `${seed}.wasm`), join(folder, `${seed}`)];
    const builds = [
      spawnSync("clang-22", [...WASM, "-g", c, "-o", programs[0]], { encoding: "utf8" }),
      spawnSync("gcc", ["-O1", "-g", c, "-o", programs[1]], { encoding: "utf8" }),
    ];
    for (const { status, stderr } of builds) expect(status, stderr).toBe(0);
    const [wasm, native] = programs.map((program) => {
      const out = `${program}.run`;
      memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", out, program]);
      // Blocks that nobody uses may be left out by either compiler.
      const all = accessesBySize(out);
      return sizes.map((size) => [size, all.get(size)?.accesses ?? 0]);
    });
    expect(native).toEqual(wasm);
    expect(native.some(([, accesses]) => accesses > 100)).toBe(true);
  });
});
