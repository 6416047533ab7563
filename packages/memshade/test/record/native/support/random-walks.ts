import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { drawing } from "./drawing.ts";

// clang runs wasm-opt if it is installed; wasm-opt moves code away from its lines and names.
const WASM = ["--target=wasm32-wasi", "-O1", "-mno-bulk-memory", "--no-wasm-opt"];
export const hasWasi =
  spawnSync("clang-22", [...WASM, "-x", "c", "-", "-o", "/dev/null"], {
    input: "int main(void) { return 0; }",
  }).status === 0;
if (!hasWasi)
  console.warn("SKIPPED: clang-22 with wasi-libc is not installed: nothing is compared with wasm");

const TYPES = ["uint8_t", "uint16_t", "uint32_t", "uint64_t"];

/**
 * A program whose blocks all have different sizes, and walks through them up or down. Accesses have fixed sizes and are neither
 * removed nor merged by compilers. Some blocks are freed, some live, some grow by realloc. Each walk has its own line.
 */
export function randomWalks(
  seed: number,
  { reallocates }: { reallocates: boolean },
): { source: string; sizes: number[] } {
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
      if (reallocates && draw(5) === 0) lines.push(`  b${block} = realloc(b${block}, ${newSize()});`);
    }
    if (draw(3) !== 0) lines.push(`  free(b${block});`);
  }
  const source = `#include <stdint.h>\n#include <stdlib.h>\nvolatile uint64_t sum;\n${walks.join("\n")}\nint main(void) {\n${lines.join("\n")}\n  return 0;\n}\n`;
  return { source, sizes };
}

/**
 * Compiles a source for both machines. @param path of the program; the module's ends in `.wasm` @returns paths of the module and of the
 * program
 */
export function buildForBoth(source: string, path: string): [string, string] {
  const c = `${path}.c`;
  writeFileSync(c, source);
  const programs: [string, string] = [`${path}.wasm`, path];
  for (const [compiler, ...options] of [
    ["clang-22", ...WASM, "-g", c, "-o", programs[0]],
    ["gcc", "-O1", "-g", c, "-o", programs[1]],
  ]) {
    const { status, stderr } = spawnSync(compiler, options, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  }
  return programs;
}
