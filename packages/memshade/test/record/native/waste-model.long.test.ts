import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { Model } from "../tools/oracle/model.ts";
import { drawing } from "./support/drawing.ts";
import { canCompile, memshadeRun } from "./support/record.ts";

const BLOCK = 96;
const SITES = 24;
const SIZES = [1, 2, 4, 8, 16];
const TYPES = ["uint8_t", "uint16_t", "uint32_t", "uint64_t", "__m128i"];

/** An access to a block by one of the program's functions; or the block is freed and a new one allocated. */
interface Step {
  site: number;
  offset: number;
  value: number;
}
const FREED = 255;

const kindOf = (site: number): "store" | "load" => (site % 2 === 0 ? "store" : "load");
const sizeOf = (site: number): number => SIZES[site % SIZES.length];

function randomSteps(seed: number): Step[] {
  const draw = drawing(seed);
  return Array.from({ length: 3000 }, (): Step => {
    if (draw(40) === 0) return { site: FREED, offset: 0, value: 0 };
    const site = draw(SITES);
    // Few addresses and few values: many stores are silent, many are dead, and accesses overlap.
    return { site, offset: draw(40), value: draw(3) };
  });
}

function sourceOf(steps: readonly Step[]): string {
  const functions = Array.from({ length: SITES }, (_, site) => {
    const type = `volatile ${TYPES[site % TYPES.length]}_u`;
    const value = sizeOf(site) === 16 ? "_mm_set1_epi8(v)" : "v * 0x0101010101010101u";
    const body = kindOf(site) === "store" ? `*(${type} *)p = ${value};` : `(void)*(${type} *)p;`;
    return `APART void site${site}(char *p, uint64_t v) { ${body} }`;
  });
  const types = TYPES.map((type) => `typedef ${type} ${type}_u __attribute__((aligned(1)));`);
  return `#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
${types.join("\n")}
${functions.join("\n")}
static const uint8_t steps[][3] = {${steps.map(({ site, offset, value }) => `{${site},${offset},${value}}`).join()}};
int main(void) {
  static void (*const sites[])(char *, uint64_t) = {${functions.map((_, site) => `site${site}`).join()}};
  char *p = malloc(${BLOCK});
  for (unsigned i = 0; i < sizeof steps / 3; i++) {
    if (steps[i][0] == ${FREED}) { free(p); p = malloc(${BLOCK}); }
    else sites[steps[i][0]](p + steps[i][1], steps[i][2]);
  }
  return 0;
}
`;
}

function modelled(steps: readonly Step[], isCompatible: boolean): Model {
  const model = new Model(BLOCK, 0, isCompatible);
  model.allocate(0, BLOCK);
  for (const { site, offset, value } of steps)
    if (site === FREED) {
      model.free(0);
      model.allocate(0, BLOCK);
    } else if (kindOf(site) === "store") model.store(site, offset, Array(sizeOf(site)).fill(value));
    else model.load(site, offset, sizeOf(site));
  model.exit();
  return model;
}

describe.skipIf(!canCompile)("a native program of random accesses", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-model-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    { seed: 1, options: [] },
    { seed: 2, options: ["--contexts"] },
    { seed: 3, options: ["--compat", "deadstores", "--include-stack"] },
  ])("has at each site what the model says: $options", ({ seed, options }) => {
    const steps = randomSteps(seed);
    const program = join(folder, `random${seed}`);
    writeFileSync(`${program}.c`, sourceOf(steps));
    // Adjacent four-byte functions have no room for a jump; functions that pointers lead to then run unrewritten.
    const build = ["-O1", "-g", "-falign-functions=16", `${program}.c`, "-o", program];
    const built = spawnSync("gcc", build, { encoding: "utf8" });
    expect(built.status, built.stderr).toBe(0);
    const out = join(folder, `run${seed}`);
    const run = memshadeRun(folder, ["--quiet", "--tool", "waste", ...options, "--out", out, program]);
    expect(run.status, run.stderr).toBe(0);
    const waste: WasteFile = JSON.parse(readFileSync(join(out, "waste.json"), "utf8"));
    const model = modelled(steps, options.includes("--compat"));
    const sums = <T extends WasteFile["stores"][0] | WasteFile["loads"][0]>(
      all: readonly T[],
      site: number,
      figures: readonly (keyof T)[],
    ) => {
      const own = all.filter(({ ips }) => ips[0].function === `site${site}`);
      return figures.map((figure) => own.reduce((sum, one) => sum + Number(one[figure]), 0));
    };
    for (let site = 0; site < SITES; site++) {
      const of = `site ${site}, ${sizeOf(site)} bytes`;
      if (kindOf(site) === "store") {
        const { stores, written, overwritten, deallocated, exit, silent } = model.stores.get(site)!;
        const figures = ["nof_stores", "bytes_written", "dead_overwritten", "dead_deallocated"] as const;
        expect(sums(waste.stores, site, [...figures, "dead_exit", "nof_silent"]), of).toEqual([
          stores,
          written,
          overwritten,
          deallocated,
          exit,
          silent,
        ]);
      } else {
        const { loads, silent } = model.loads.get(site)!;
        expect(sums(waste.loads, site, ["nof_loads", "nof_silent"]), of).toEqual([loads, silent]);
      }
    }
  });
});
