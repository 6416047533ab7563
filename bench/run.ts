import "../packages/memshade/scripts/check-generated.ts";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machine } from "./harness/machine.ts";
import type { ProgramMeasurement } from "./harness/measure.ts";
import { isInstalled, SUITES, type Suite } from "./harness/programs.ts";
import type { RewritingMeasurement } from "./harness/rewriting.ts";
import type { Variant } from "./harness/substitution.ts";
import { COLUMNS, rewritingTable, slowdownTable } from "./harness/tables.ts";

/** Pairs before the measured ones, in which engines optimise hot code. */
const WARM_UPS = 6;

const USAGE = `usage: npm run bench -- [--suite SUITE]… [--only NAME]… [--pairs N] [--against CHECKOUT] [--write]
  --suite SUITE       ${Object.keys(SUITES).join(", ")} (may be repeated; real and kernels)
  --only NAME         this program only (may be repeated)
  --pairs N           measured runs of each kind, in alternation (5)
  --against CHECKOUT  measure the instrumenter of another checkout in the same alternation
  --write             all suites and the speed of rewriting, to bench/RESULTS.md`;

const TITLES: Record<Suite, string> = {
  real: "Real programs",
  apart: "Real programs kept apart",
  kernels: "Kernels",
};

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

/** Runs a script of the harness in a process of its own and parses the JSON of its last line. */
function runHarness<T>(script: string, args: readonly string[]): T {
  const path = fileURLToPath(new URL(`harness/${script}`, import.meta.url));
  const child = spawnSync(process.execPath, ["--expose-gc", "--no-warnings", path, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (child.status !== 0) {
    console.error(child.stderr);
    console.error(`bench: ${script} ${args.join(" ")} failed (${child.status ?? child.signal})`);
    process.exit(1);
  }
  return JSON.parse(child.stdout.trimEnd().split("\n").at(-1) ?? "");
}

function parse() {
  try {
    return parseArgs({
      options: {
        suite: { type: "string", multiple: true },
        only: { type: "string", multiple: true },
        pairs: { type: "string", default: "5" },
        against: { type: "string" },
        write: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return fail(`bench: ${(error as Error).message}\n${USAGE}`);
  }
}

const options = parse();
if (options.help) {
  console.log(USAGE);
  process.exit(0);
}
const pairs = Number(options.pairs);
if (!Number.isInteger(pairs) || pairs < 1) fail("bench: --pairs is a whole number from 1");
if (options.write && (options.suite ?? options.only) !== undefined)
  fail("bench: --write is for all suites and programs: leave --suite and --only out");
const everySuite = Object.keys(SUITES) as Suite[];
const suites: string[] = options.suite ?? (options.write || options.only ? everySuite : ["real", "kernels"]);
for (const suite of suites) if (!(suite in SUITES)) fail(`bench: --suite is one of ${everySuite.join(", ")}`);
const names: string[] = Object.values(SUITES).flatMap((programs) => programs.map(({ name }) => name));
for (const name of options.only ?? [])
  if (!names.includes(name)) fail(`bench: --only is one of ${names.join(", ")}`);

const variants = Object.keys(COLUMNS) as Variant[];
const text = [
  "# Benchmark results",
  "",
  machine(),
  "",
  `Ratios are CPU time (user and system, whole process) of an instrumented run over that of a plain run: medians of ${pairs} pairs in alternation behind ${WARM_UPS} that are not measured, node as it starts by default. Results are compared in every pair.`,
];
if (options.against !== undefined) text.push("", "The ratios of the other checkout stand in brackets.");
for (const suite of everySuite.filter((each) => suites.includes(each))) {
  const programs = SUITES[suite]
    .filter(({ name }) => options.only?.includes(name) ?? true)
    .filter((workload) => {
      if (isInstalled(workload)) return true;
      console.error(`bench: ${workload.name} is SKIPPED, not installed (see bench/README.md)`);
      return false;
    });
  if (programs.length === 0) continue;
  const measured = programs.map(({ name }) => {
    console.error(`bench: ${name}`);
    const against = options.against === undefined ? "-" : resolve(options.against);
    return runHarness<ProgramMeasurement>("measure.ts", [
      name,
      String(pairs),
      String(WARM_UPS),
      against,
      ...variants,
    ]);
  });
  text.push("", `## ${TITLES[suite]}`, "", slowdownTable(measured, variants));
}
if (options.write) {
  console.error("bench: rewriting");
  text.push("", "## Rewriting for the heap profiler: best of 3", "");
  text.push(rewritingTable(runHarness<RewritingMeasurement[]>("rewriting.ts", ["3"])));
}
const report = `${text.join("\n")}\n`;
if (options.write) {
  writeFileSync(new URL("RESULTS.md", import.meta.url), report);
  console.error("bench: wrote bench/RESULTS.md");
} else console.log(report);
