// Measures the cost of adding to a store compared with merging: `node bench/fleet/add.ts app.exe app.memprofraw [RUNS] [CONTEXTS]` makes
// raw profiles of one capture. It passes one and all of them to `store add` and to `merge`, in alternation. The cost of one more profile is
// the slope between the two, in CPU time, because adding does not wait for a disk.
import "../../packages/memshade/scripts/check-generated.ts";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codePlaces, generateProfiles } from "../memprof/generate.ts";

const MEMSHADE = new URL("../../packages/memshade/bin/memshade.js", import.meta.url).pathname;
const ROUNDS = 3;
const [binary, sample, runs = "40", contexts = "2000"] = process.argv.slice(2);
if (binary === undefined || sample === undefined)
  throw new Error("usage: node bench/fleet/add.ts app.exe app.memprofraw [RUNS] [CONTEXTS]");
const folder = mkdtempSync(join(tmpdir(), "memshade-add-"));

/** Milliseconds of CPU time of a command. */
function time(args: readonly string[]): number {
  const command = ["-f", "TIME %U %S", process.execPath, "--no-warnings", MEMSHADE, ...args];
  const { status, stderr } = spawnSync("time", command, { encoding: "utf8" });
  const [, user, system] = /TIME ([\d.]+) ([\d.]+)/.exec(stderr) ?? [];
  if (status !== 0) throw new Error(stderr);
  return (Number(user) + Number(system)) * 1000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function rowsOf(store: string): number {
  const query = ["store", "query", store, "select count(*) as n from metrics", "--csv"];
  const { stdout } = spawnSync(process.execPath, ["--no-warnings", MEMSHADE, ...query], { encoding: "utf8" });
  return Number(stdout.split("\n")[1]);
}

function filesBelow(path: string): string[] {
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".parquet")).map((name) => join(path, name));
}

function bytesBelow(path: string): number {
  return filesBelow(path).reduce((sum, file) => sum + statSync(file).size, 0);
}

try {
  const files = generateProfiles(folder, binary, sample, codePlaces(sample), {
    profiles: Number(runs),
    contexts: Number(contexts),
    unique: 0.01,
  });
  const inputs = join(folder, "inputs.txt");
  writeFileSync(inputs, files.join("\n"));
  const store = join(folder, "store");
  const slopes = { add: [] as number[], merge: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const add = (what: string) => {
      rmSync(store, { recursive: true, force: true });
      return time(["store", "add", "--to", store, "--build", "b", "--binary", binary, what]);
    };
    const merge = (what: string) =>
      time(["merge", "--binary", binary, "--combine", "-o", join(folder, "out"), what]);
    for (const [name, of] of [
      ["merge", merge],
      ["add", add],
    ] as const) {
      const one = of(files[0]!);
      slopes[name].push((of(`@${inputs}`) - one) / (files.length - 1));
    }
  }
  const [added, merged] = [median(slopes.add), median(slopes.merge)];
  const rows = rowsOf(store);
  console.log(`${runs} runs, ${rows} rows`);
  console.log(`merge: ${merged.toFixed(1)} ms a run`);
  console.log(
    `store add: ${added.toFixed(1)} ms a run, ${(added - 1.5 * merged).toFixed(1)} ms more than 1.5 times merge`,
  );
  console.log(
    `${(bytesBelow(join(store, "metrics")) / rows).toFixed(1)} bytes a row of metrics, ${(bytesBelow(store) / rows).toFixed(1)} of all tables`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
