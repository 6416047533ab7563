import "../packages/memshade/scripts/check-generated.ts";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { PairMeasurement } from "./harness/allocation-pair.ts";
import type { Column, ProgramMeasurement } from "./harness/measure.ts";
import {
  ALL,
  C_PROGRAMS,
  isInstalled,
  KERNELS,
  LARGE,
  MODULES,
  SUITE,
  type Workload,
} from "./harness/programs.ts";
import type { RewritingMeasurement } from "./harness/rewriting.ts";
import { memoryTable, pairTable, rewritingTable, slowdownTable } from "./harness/tables.ts";

/** Runs before the measured ones: behind them, times stay as they are. */
const WARM_UPS = 6;

const USAGE = `usage: npm run bench -- [--only NAME]… [--pairs N] [--table COLUMN] [--tier steady|default|warm]
                       [--part slowdown|memory|pair|rewriting]… [--large] [--write]
  --only NAME   this program only (may be repeated)
  --suite S     fixed: our kernels and npm modules, or c: C and C++ as clang leaves it (fixed)
  --pairs N     runs of each kind, alternating; the first pair is dropped, of warm programs ${WARM_UPS - 1} more (7)
  --table T     one column only: counters (the access counters alone), full (the heap profiler), alloc, workingset,
                "workingset aligned", "workingset timed", locality, "locality exact", "first touch", fill, owners,
                waste, "waste opaque", "waste pairs" or "waste contexts";
                "waste again", "waste contexts again": later runs, which know what an earlier one did
  --tier T      one table only: all functions optimised before the start, node as it starts by default, or
                warm: the same after ${WARM_UPS} runs, by which engines have optimised what is hot as it is called
  --part P      one part only (may be repeated)
  --large       time the modules above 10 MB too, in the default tier (they are always in the rewriting table)
  --write       write bench/RESULTS.md instead of printing
programs: ${ALL.map(({ name }) => name).join(" ")}`;

const COLUMNS: readonly Column[] = [
  "counters",
  "full",
  "alloc",
  "workingset",
  "workingset aligned",
  "workingset timed",
  "locality",
  "locality exact",
  "first touch",
  "fill",
  "owners",
  "waste",
  "waste opaque",
  "waste pairs",
  "waste contexts",
  "waste again",
  "waste contexts again",
];

/** Optimised code only, before the program starts, so without knowledge of what is hot: nothing is compiled while it runs. */
const STEADY_STATE = ["--no-liftoff", "--no-wasm-lazy-compilation"];

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

/** Runs a script of the harness in a process of its own and parses the JSON of its last line. */
function runHarness<T>(script: string, flags: readonly string[], args: readonly string[]): T {
  const path = fileURLToPath(new URL(`harness/${script}`, import.meta.url));
  const child = spawnSync(process.execPath, [...flags, "--expose-gc", "--no-warnings", path, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const line = child.stdout.trimEnd().split("\n").at(-1) ?? "";
  if (child.status !== 0 || !line.startsWith("{") === !line.startsWith("[")) {
    console.error(child.stderr);
    console.error(`bench: ${script} ${args.join(" ")} failed (${child.status ?? child.signal})`);
    process.exit(1);
  }
  return JSON.parse(line);
}

function measurePrograms(
  workloads: readonly Workload[],
  flags: readonly string[],
  pairs: number,
  columns: readonly Column[],
  warmUps = 1,
): ProgramMeasurement[] {
  return workloads.map(({ name }) => {
    console.error(`bench: ${name}${flags.length > 0 ? ", optimised" : ""}`);
    return runHarness<ProgramMeasurement>("measure.ts", flags, [
      name,
      String(warmUps + pairs - 1),
      String(warmUps),
      ...columns,
    ]);
  });
}

let options: ReturnType<typeof parse>;
function parse() {
  return parseArgs({
    options: {
      only: { type: "string", multiple: true },
      suite: { type: "string", default: "fixed" },
      pairs: { type: "string", default: "7" },
      table: { type: "string" },
      tier: { type: "string" },
      part: { type: "string", multiple: true },
      large: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  }).values;
}
try {
  options = parse();
} catch (error) {
  fail(`bench: ${(error as Error).message}\n${USAGE}`);
}
if (options.help) {
  console.log(USAGE);
  process.exit(0);
}

const oneOf = (name: string, value: string | undefined, choices: readonly string[]) => {
  if (value !== undefined && !choices.includes(value))
    fail(`bench: --${name} is one of ${choices.join(", ")}`);
};
oneOf("table", options.table, COLUMNS);
oneOf("suite", options.suite, ["fixed", "c"]);
oneOf("tier", options.tier, ["steady", "default", "warm"]);
for (const part of options.part ?? []) oneOf("part", part, ["slowdown", "memory", "pair", "rewriting"]);
for (const name of options.only ?? [])
  oneOf(
    "only",
    name,
    ALL.map((workload) => workload.name),
  );
const pairs = Number(options.pairs);
if (!Number.isInteger(pairs) || pairs < 2) fail("bench: --pairs is a whole number from 2");

const columns: Column[] = options.table === undefined ? ["counters", "full"] : [options.table as Column];
const wanted = (workload: Workload) => options.only?.includes(workload.name) ?? true;
const installed = (workload: Workload) => {
  if (isInstalled(workload)) return true;
  const how = C_PROGRAMS.includes(workload) ? "node bench/debian/build.ts" : "npm ci --prefix bench";
  console.error(`bench: ${workload.name} is SKIPPED, not installed (${how})`);
  return false;
};
const inSuite = (workload: Workload) =>
  options.only !== undefined || (options.suite === "c" ? C_PROGRAMS : SUITE).includes(workload);
const suite = [...new Set([...(options.suite === "c" ? C_PROGRAMS : SUITE), ...ALL])]
  .filter((workload) => !LARGE.includes(workload))
  .filter(inSuite)
  .filter(wanted)
  .filter(installed);
const large = LARGE.filter((workload) =>
  options.large ? wanted(workload) : options.only?.includes(workload.name),
);
const fixedGroups = [
  { title: "kernels", names: KERNELS.map(({ name }) => name) },
  { title: "npm modules", names: MODULES.map(({ name }) => name) },
  { title: "all", names: SUITE.map(({ name }) => name) },
];
const groups =
  options.suite === "c"
    ? [{ title: "C and C++ programs", names: C_PROGRAMS.map(({ name }) => name) }]
    : fixedGroups;
const parts =
  options.part ?? (options.only ? ["slowdown", "memory"] : ["slowdown", "memory", "pair", "rewriting"]);

const version = JSON.parse(
  readFileSync(new URL("../packages/memshade/package.json", import.meta.url), "utf8"),
).version;
const text: string[] = [
  "# Benchmark results",
  "",
  `\`npm run bench${process.argv
    .slice(2)
    .map((argument) => ` ${argument}`)
    .join("")
    .replace(
      /^ /,
      " -- ",
    )}\`, ${new Date().toISOString().slice(0, 10)}; memshade ${version}, Node ${process.versions.node} (V8 ${process.versions.v8}), ${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}, load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(" ")} at the start.`,
  "",
  `Ratios are CPU time (user and system, whole process) of an instrumented run over that of a plain run. Both run in one process in alternation, each time with a fresh instance of a module compiled before; ${pairs} pairs, the first dropped, median of the rest; warm programs have run ${WARM_UPS - 1} pairs more before. Results are compared in every pair.`,
];
if (parts.includes("slowdown") && options.tier === "warm" && suite.length > 0) {
  text.push("", `## Warm: node as it starts, behind ${WARM_UPS} runs of each kind`, "");
  text.push(slowdownTable(measurePrograms(suite, [], pairs, columns, WARM_UPS), columns, groups));
}
if (parts.includes("slowdown") && (options.tier ?? "steady") === "steady" && suite.length > 0) {
  text.push("", "## Steady state: every function optimised before the start", "");
  text.push(slowdownTable(measurePrograms(suite, STEADY_STATE, pairs, columns), columns, groups));
}
if (parts.includes("slowdown") && ((options.tier ?? "default") === "default" || large.length > 0)) {
  const programs = [...((options.tier ?? "default") === "default" ? suite : []), ...large.filter(installed)];
  if (programs.length > 0) {
    text.push("", "## Default tiers: node as it starts", "");
    text.push(slowdownTable(measurePrograms(programs, [], pairs, columns), columns, groups));
  }
}
if (parts.includes("memory") && suite.length > 0) {
  console.error("bench: memory");
  const residentBytes = (name: string, variant: string) =>
    runHarness<[number]>("memory.ts", [], [name, variant])[0];
  text.push("", "## Resident memory that one run adds to the process", "");
  text.push(
    memoryTable(
      suite.map(({ name }) => ({
        name,
        plainBytes: residentBytes(name, "plain"),
        profiledBytes: residentBytes(name, "full"),
      })),
    ),
  );
}
if (parts.includes("pair")) {
  console.error("bench: malloc and free");
  text.push("", "## One malloc and its free, in a loop inside the module, optimised", "");
  text.push(pairTable(runHarness<PairMeasurement[]>("allocation-pair.ts", STEADY_STATE, [])));
}
if (parts.includes("rewriting")) {
  console.error("bench: rewriting");
  text.push("", "## Rewriting for the full profiler: best of 3, CPU time of the thread", "");
  text.push(
    rewritingTable(runHarness<RewritingMeasurement[]>("rewriting.ts", [], ["3", ...(options.only ?? [])])),
  );
}

const report = `${text.join("\n")}\n`;
if (options.write) {
  writeFileSync(new URL("RESULTS.md", import.meta.url), report);
  console.error("bench: wrote bench/RESULTS.md");
} else console.log(report);
