import "../../packages/memshade/scripts/check-generated.ts";
import { parseArgs } from "node:util";
import type { MissRatioCurve } from "../../packages/memshade/src/explain/analyses/locality.ts";
import { LINE_BYTES } from "../../packages/memshade/src/ground/bytes/sizes.ts";
import { findWorkload, isInstalled, SUITES } from "../harness/programs.ts";
import { cacheSizesUpTo, meanAbsoluteError } from "./compare-curves.ts";
import { recordLocality } from "./record.ts";

const USAGE = `usage: node bench/locality/run.ts [--rate R] [--scale full|small] [--curve] [PROGRAM]…
Compares miss-ratio curves of the suite's programs, sampled from a part R of all lines (0.01), with those of all lines.
--curve prints both curves, too.`;

/** Smallest cache size: a sample cannot resolve smaller ones, and no machine has them. */
const SMALLEST_LINES = 64;
const EVEN_STEPS = 256;

function fail(message: string): never {
  console.error(`locality: ${message}\n${USAGE}`);
  process.exit(2);
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        rate: { type: "string", default: "0.01" },
        scale: { type: "string", default: "full" },
        curve: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    fail((error as Error).message);
  }
}

/** Cache sizes in lines: in equal steps, and in steps of a quarter of a doubling. */
function cacheSizes(lines: number): { even: number[]; doublings: number[] } {
  const most = Math.max(SMALLEST_LINES * 2, lines);
  const even = Array.from({ length: EVEN_STEPS }, (_, i) =>
    Math.round(SMALLEST_LINES + ((most - SMALLEST_LINES) * i) / (EVEN_STEPS - 1)),
  );
  return { even, doublings: cacheSizesUpTo(most).filter((size) => size >= SMALLEST_LINES) };
}

function errors(
  curve: MissRatioCurve,
  whole: MissRatioCurve,
  sizes: ReturnType<typeof cacheSizes>,
): string[] {
  const largest = Math.max(...sizes.doublings.map((size) => Math.abs(curve.at(size) - whole.at(size))));
  return [
    meanAbsoluteError(curve, whole, sizes.even).toFixed(4),
    meanAbsoluteError(curve, whole, sizes.doublings).toFixed(4),
    largest.toFixed(3),
  ];
}

const { values, positionals } = parse();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const rate = Number(values.rate);
if (!(rate > 0 && rate <= 1)) fail("--rate is a number from 0 to 1");
if (values.scale !== "full" && values.scale !== "small") fail("--scale is full or small");
const { scale } = values;
const unknown = positionals.find((name) => findWorkload(name) === undefined);
if (unknown !== undefined) fail(`no program is called ${unknown}`);

const header = [
  "program",
  "references",
  "lines",
  `sampled, ${rate * 100} %`,
  "mean error, even steps",
  "mean error, doublings",
  "largest",
];
console.log(`| ${header.join(" | ")} |\n| --- |${" --: |".repeat(header.length - 1)}`);
for (const workload of [...SUITES.kernels, ...SUITES.real]) {
  if (positionals.length > 0 && !positionals.includes(workload.name)) continue;
  if (!isInstalled(workload)) {
    console.error(`locality: ${workload.name} is SKIPPED, not installed`);
    continue;
  }
  const whole = await recordLocality(workload, scale, { rate: 1 });
  const sampled = await recordLocality(workload, scale, { rate });
  const sizes = cacheSizes(whole.tables.cold);
  const cells = [
    workload.name,
    whole.tables.references.toLocaleString("en"),
    whole.tables.cold.toLocaleString("en"),
    sampled.tables.sampled.toLocaleString("en"),
    ...errors(sampled.curve, whole.curve, sizes),
  ];
  console.log(`| ${cells.join(" | ")} |`);
  if (!values.curve) continue;
  const at = (curve: MissRatioCurve, size: number) => curve.at(size).toFixed(4);
  for (const size of sizes.doublings)
    console.log(
      `  ${(size * LINE_BYTES) / 1024} KiB: all lines ${at(whole.curve, size)}, sampled ${at(sampled.curve, size)}`,
    );
}
