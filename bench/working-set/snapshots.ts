import "../../packages/memshade/scripts/check-generated.ts";
import { parseArgs } from "node:util";
import { Control } from "../../packages/memshade/src/record/tools/working-set/layout.ts";
import { WorkingSetReader } from "../../packages/memshade/src/record/tools/working-set/read/working-set-session.ts";
import { findWorkload, isInstalled, SUITES, type Workload } from "../harness/programs.ts";
import { WorkingSetRecording } from "../harness/working-set-recording.ts";

const USAGE = `usage: node --expose-gc --no-liftoff --no-wasm-lazy-compilation bench/working-set/snapshots.ts [--runs N] [PROGRAM]…
What a snapshot of the working set costs: programs of the suite with intervals of accesses that take about two
milliseconds, and with none that ends, in alternation; the least CPU time of N runs each (5).`;

const SHORT_MS = 2;
const USUAL_MS = 20;
/** More accesses than any run has. */
const ENDLESS = 2 ** 40;

function fail(message: string): never {
  console.error(`snapshots: ${message}\n${USAGE}`);
  process.exit(2);
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { runs: { type: "string", default: "5" }, help: { type: "boolean", default: false } },
    });
  } catch (error) {
    fail((error as Error).message);
  }
}

interface Run {
  cpuMs: number;
  accesses: number;
  snapshots: number;
  /** Lines that all snapshots examined. */
  lines: number;
}

async function measure(recording: WorkingSetRecording): Promise<Run> {
  const { instances, cpuMs } = await recording.run("full");
  const runs = instances.map(({ memory, layout }) => {
    const view = new DataView(memory.buffer);
    return {
      cpuMs,
      accesses: new WorkingSetReader(memory, layout).read().accesses,
      snapshots: view.getUint32(layout.control + Control.records, true),
      lines: Number(view.getBigUint64(layout.control + Control.work, true)),
    };
  });
  const [busiest] = runs.sort((a, b) => b.accesses - a.accesses);
  if (busiest === undefined) throw new Error("no instance was made");
  return busiest;
}

async function compare(workload: Workload, runs: number): Promise<string[]> {
  const never = new WorkingSetRecording(workload, { interval: ENDLESS });
  const { accesses, cpuMs } = await measure(never);
  const interval = Math.max(1, Math.round((accesses * SHORT_MS) / cpuMs));
  const often = new WorkingSetRecording(workload, { interval });
  const results: [Run[], Run[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    results[0].push(await measure(never));
    results[1].push(await measure(often));
  }
  const [without, with_] = results.map((some) => Math.min(...some.map((one) => one.cpuMs)));
  const { snapshots, lines } = results[1][0];
  const each = (with_ - without) / Math.max(1, snapshots);
  return [
    workload.name,
    without.toFixed(0),
    String(snapshots),
    Math.round(lines / Math.max(1, snapshots)).toLocaleString("en"),
    (each * 1000).toFixed(0),
    `${((each / USUAL_MS) * 100).toFixed(2)} %`,
  ];
}

const { values, positionals } = parse();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) fail("--runs is a whole number from 1");
const unknown = positionals.find((name) => findWorkload(name) === undefined);
if (unknown !== undefined) fail(`no program is called ${unknown}`);

console.log(
  `| program | CPU without, ms | snapshots | lines looked at, each | µs each | of a run with one per ${USUAL_MS} ms |\n| --- | --: | --: | --: | --: | --: |`,
);
for (const workload of [...SUITES.kernels, ...SUITES.real]) {
  if (positionals.length > 0 && !positionals.includes(workload.name)) continue;
  if (isInstalled(workload)) console.log(`| ${(await compare(workload, runs)).join(" | ")} |`);
  else console.error(`snapshots: ${workload.name} is SKIPPED, not installed`);
}
