/**
 * Measures the objects tool on programs in the style of compilers of garbage-collected languages:
 * node bench/objects/run.ts [--pairs N]
 * Each variant runs in alternation with the plain program. Ratios are of the thread's processor time, medians over the pairs.
 */
import "../../packages/memshade/scripts/check-generated.ts";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connectHost } from "../../packages/memshade/src/record/host/instance/host-calls.ts";
import { type InstrumentedInfo, instrument } from "../../packages/memshade/src/record/tools/index.ts";
import type { ObjectsOptions } from "../../packages/memshade/src/record/tools/options.ts";
import { geometricMean, median } from "../harness/statistics.ts";

const FOLDER = new URL("../../packages/memshade/test/fixtures/programs/objects/", import.meta.url);

/** Amount of work of each program: about 100 ms. */
const PROGRAMS: Readonly<Record<string, number>> = {
  trees: 2000,
  kotlin: 4_000_000,
  dart: 1_500_000,
  scheme: 1_200_000,
  words: 250_000,
};

/** Allocations alone, by context, with fields, with samples. */
const VARIANTS: Readonly<Record<string, ObjectsOptions>> = {
  counts: { fields: false, contexts: false, sampleBytes: 0 },
  contexts: { fields: false, sampleBytes: 0 },
  fields: { contexts: false, sampleBytes: 0 },
  "fields and contexts": { sampleBytes: 0 },
  "all, with samples": {},
};

const WARM_UPS = 1;

interface Compiled {
  readonly module: WebAssembly.Module;
  readonly info?: InstrumentedInfo;
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of one run in a fresh instance. */
function timeOf({ module, info }: Compiled, n: number): number {
  const { exports } = new WebAssembly.Instance(module);
  if (info !== undefined) connectHost(exports, info, { flush: () => {} });
  const start = processorMs();
  (exports.run as (n: number) => number)(n);
  return processorMs() - start;
}

/** Collects garbage between the runs, so that weak references of one run do not slow down the next. */
async function betweenRuns(): Promise<void> {
  await new Promise((done) => setTimeout(done));
  globalThis.gc?.();
}

const { values } = parseArgs({ options: { pairs: { type: "string", default: "9" } } });
const pairs = Number(values.pairs);
const variants = Object.keys(VARIANTS);
console.log(`| ${["program", "plain, ms", ...variants].join(" | ")} |`);
console.log(`| --- |${" --: |".repeat(variants.length + 1)}`);
const all = new Map<string, number[]>();
for (const [name, n] of Object.entries(PROGRAMS)) {
  const bytes = new Uint8Array(readFileSync(fileURLToPath(new URL(`${name}.wasm`, FOLDER))));
  const plain: Compiled = { module: new WebAssembly.Module(bytes) };
  const plainTimes: number[] = [];
  const cells: string[] = [];
  for (const [variant, objects] of Object.entries(VARIANTS)) {
    const { bytes: rewritten, info } = instrument(bytes, { tools: ["objects"], objects, sharedShadow: true });
    const profiled: Compiled = { module: new WebAssembly.Module(rewritten as BufferSource), info };
    const ratios: number[] = [];
    for (let pair = -WARM_UPS; pair < pairs; pair++) {
      await betweenRuns();
      const before = timeOf(plain, n);
      await betweenRuns();
      const ratio = timeOf(profiled, n) / before;
      if (pair < 0) continue;
      plainTimes.push(before);
      ratios.push(ratio);
    }
    cells.push(median(ratios).toFixed(2));
    all.set(variant, [...(all.get(variant) ?? []), median(ratios)]);
  }
  console.log(`| ${[name, median(plainTimes).toFixed(0), ...cells].join(" | ")} |`);
}
const means = variants.map((variant) => geometricMean(all.get(variant)!).toFixed(2));
console.log(`| ${["**geometric mean**", "", ...means].join(" | ")} |`);
