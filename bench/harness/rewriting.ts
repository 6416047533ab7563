import { readFileSync } from "node:fs";
import { ALL, findWorkload, isInstalled } from "./programs.ts";
import { codeSectionBytes } from "./sections.ts";
import { rewrite } from "./substitution.ts";

/** Speed and growth of rewriting one module for the full heap profiler. */
export interface RewritingMeasurement {
  file: string;
  bytes: number;
  /** Bytes of the original per microsecond, best of the runs. */
  megabytesPerSecond: number;
  fileGrowth: number;
  codeGrowth: number;
}

export function measureRewriting(path: string, runs: number): RewritingMeasurement {
  const bytes = new Uint8Array(readFileSync(path));
  const file = path.split("/").at(-1) as string;
  let leastMicroseconds = Number.POSITIVE_INFINITY;
  let output = bytes;
  for (let run = 0; run < runs; run++) {
    const before = performance.now();
    output = rewrite(bytes, "full", { name: file }) as Uint8Array<ArrayBuffer>;
    leastMicroseconds = Math.min(leastMicroseconds, (performance.now() - before) * 1000);
  }
  return {
    file,
    bytes: bytes.length,
    megabytesPerSecond: bytes.length / leastMicroseconds,
    fileGrowth: output.length / bytes.length,
    codeGrowth: codeSectionBytes(output) / Math.max(1, codeSectionBytes(bytes)),
  };
}

/** `node rewriting.ts RUNS [NAME…]` prints the measurements of all modules, or of those programs, as JSON. */
if (import.meta.main) {
  const [runs, ...names] = process.argv.slice(2);
  const workloads = names.length > 0 ? names.map((name) => findWorkload(name)) : ALL;
  const measurements = workloads
    .filter((workload) => workload !== undefined)
    .filter(isInstalled)
    .flatMap((workload) => workload.files())
    .flatMap(({ wasm }) => (wasm === undefined ? [] : [measureRewriting(wasm, Number(runs))]));
  console.log(JSON.stringify(measurements));
}
