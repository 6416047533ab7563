import { parseArgs } from "node:util";
import {
  cacheSizesUpTo,
  LINE_BYTES,
  MissRatioCurve,
  meanAbsoluteError,
  shardsCurve,
  ValueHistogram,
} from "../../packages/memshade/src/analyses/locality/index.ts";
import {
  instrument,
  type LocalityOptions,
  localityLayoutOf,
  type WorkingSetLayout,
} from "../../packages/memshade/src/instrument/index.ts";
import {
  type LocalityTables,
  readLocality,
} from "../../packages/memshade/src/runtime/host/working-set/read-locality.ts";
import { WorkingSetReader } from "../../packages/memshade/src/runtime/host/working-set/read-tables.ts";
import { findWorkload, KERNELS, kernelArguments, kernelBytes } from "../harness/programs.ts";
import { MemoryWasi } from "../harness/wasi.ts";

const USAGE = `usage: node bench/locality/run.ts [--rate R] [--size N] [--scale full|small] [KERNEL]…
Compares the sampled miss-ratio curve of the kernels with the exact one.`;

/** Caches below this are smaller than what a sample can tell apart, and than any machine's. */
const SMALLEST_LINES = 64;

interface Measured extends LocalityTables {
  cpuMs: number;
}

function measure(
  name: string,
  scale: "full" | "small",
  locality: LocalityOptions | undefined,
): Measured | number {
  const workingset = locality === undefined ? undefined : { locality };
  const original = kernelBytes(name);
  const { bytes, info } = instrument(original, { tools: ["workingset"], workingset: workingset ?? {} });
  const module = new WebAssembly.Module((workingset === undefined ? original : bytes) as BufferSource);
  const wasi = new MemoryWasi({ args: [name, ...kernelArguments(name, scale)] });
  const instance = new WebAssembly.Instance(module, wasi.imports);
  const before = process.cpuUsage();
  wasi.start(instance);
  const used = process.cpuUsage(before);
  const cpuMs = (used.user + used.system) / 1000;
  if (workingset === undefined) return cpuMs;
  const memory = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const tables = localityLayoutOf(layout);
  if (tables === undefined) throw new Error("no locality");
  return { ...readLocality(memory, tables, new WorkingSetReader(memory, layout).read().duration), cpuMs };
}

function curveOf({ distances, references, sampled, rate, cold }: LocalityTables, exact: boolean) {
  const histogram = new ValueHistogram();
  for (const [value, weight] of distances) histogram.add(value, weight);
  return exact
    ? new MissRatioCurve(histogram, cold, references)
    : shardsCurve({ references, sampled, rate, distances: histogram, cold });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rate: { type: "string" },
    size: { type: "string" },
    scale: { type: "string", default: "full" },
    curve: { type: "boolean" },
    help: { type: "boolean" },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const scale = values.scale === "small" ? "small" : "full";
const sampling: LocalityOptions = {
  ...(values.rate === undefined ? {} : { rate: Number(values.rate) }),
  ...(values.size === undefined ? {} : { mostLines: Number(values.size) }),
};
const names = positionals.length > 0 ? positionals : KERNELS.map(({ name }) => name);
console.log(
  "| program | references | lines | sampled | mean error, even steps | mean error, doublings | largest | plain ms | sampled ms | exact ms |",
);
console.log("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |");
for (const name of names) {
  if (findWorkload(name) === undefined) throw new Error(`no kernel is called ${name}`);
  const plain = measure(name, scale, undefined) as number;
  const exact = measure(name, scale, { method: "exact" }) as Measured;
  const sampled = measure(name, scale, sampling) as Measured;
  const one = curveOf(sampled, false);
  const other = curveOf(exact, true);
  const most = Math.max(SMALLEST_LINES * 2, exact.cold);
  const even = Array.from(
    { length: 256 },
    (_, i) => SMALLEST_LINES + ((most - SMALLEST_LINES) * i) / 255,
  ).map(Math.round);
  const doublings = cacheSizesUpTo(most).filter((size) => size >= SMALLEST_LINES);
  const largest = Math.max(...doublings.map((size) => Math.abs(one.at(size) - other.at(size))));
  console.log(
    `| ${[
      name,
      exact.references,
      exact.cold,
      Math.round(sampled.sampled),
      meanAbsoluteError(one, other, even).toFixed(4),
      meanAbsoluteError(one, other, doublings).toFixed(4),
      largest.toFixed(3),
      plain.toFixed(0),
      sampled.cpuMs.toFixed(0),
      exact.cpuMs.toFixed(0),
    ].join(" | ")} |`,
  );
  if (values.curve)
    for (const size of doublings)
      console.log(
        `  ${size} ${(size * LINE_BYTES) / 1024} KiB exact ${other.at(size).toFixed(4)} sampled ${one.at(size).toFixed(4)}`,
      );
}
