import { readFileSync } from "node:fs";
import { withBranchHints } from "../../packages/memshade/src/host/module/branch-hints.ts";
import { rewrite, type Variant } from "./substitution.ts";
import { MemoryWasi } from "./wasi.ts";

const PAIR = new URL("../../packages/memshade/test/fixtures/programs/kernels/pair.wasm", import.meta.url);

/** Nanoseconds of CPU that one malloc and its free take, plain and profiled; the least of several runs each. */
export interface PairMeasurement {
  liveBlocks: number;
  plainNs: number;
  profiledNs: number;
}

/** Times `pairs` pairs in a loop inside the module, with a number of blocks live at a time. */
export function measurePair(liveBlocks: number, pairs: number, runs: number): PairMeasurement {
  const bytes = readFileSync(PAIR);
  const modules = (["plain", "full"] as Variant[]).map((variant) => {
    const rewritten = rewrite(bytes, variant, { name: "pair.wasm" });
    const compile = () => new WebAssembly.Module(rewritten as BufferSource);
    return variant === "plain" ? compile() : withBranchHints(compile);
  });
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let run = 0; run < runs; run++)
    modules.forEach((module, which) => {
      const wasi = new MemoryWasi({ args: ["pair", String(pairs), String(liveBlocks)] });
      const instance = new WebAssembly.Instance(module, wasi.imports);
      const before = process.cpuUsage();
      wasi.start(instance);
      const used = process.cpuUsage(before);
      least[which] = Math.min(least[which] as number, ((used.user + used.system) * 1000) / pairs);
    });
  return { liveBlocks, plainNs: least[0] as number, profiledNs: least[1] as number };
}

if (import.meta.main)
  console.log(
    JSON.stringify([
      measurePair(1, 10_000_000, 5),
      measurePair(64, 10_000_000, 5),
      measurePair(100_000, 5_000_000, 3),
    ]),
  );
