import { StoreFolder } from "../../src/store/folder.ts";
import { contextKey, frameKey, functionsKey, siteKey } from "../../src/store/keys.ts";
import type { RunRows } from "../../src/store/rows.ts";

const DAY = "2026-11-24";
const BUILDS = 45;
const RUNS_PER_BUILD = 3;
const CONTEXTS = 9;

const FRAMES = Array.from({ length: CONTEXTS }, (_, index) => ({
  guid: BigInt(index + 1) * 0x9e37_79b9_7f4a_7c15n,
  lineOffset: index === 0 ? 4_294_967_250 : index,
  column: 3,
  inline: false,
}));

/** Reproducible numbers that look random. */
function chance(seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}

/**
 * Invented runs, one part in each folder: three runs of each of 45 builds. The 31st build makes one context grow, and one
 * context is cold. Some figures are unknown, and some numbers have their maximum.
 */
export function writeMadeUpStores(folders: readonly string[]): void {
  const stores = folders.map((folder) => StoreFolder.openOrMake(folder));
  for (const [part, store] of stores.entries()) {
    const keys: bigint[] = [];
    const tables: Record<string, Record<string, unknown>[]> = { runs: [], metrics: [] };
    for (let run = part; run < BUILDS * RUNS_PER_BUILD; run += stores.length) {
      const key = BigInt(run) * 7919n - 500_000n;
      keys.push(key);
      const { row, metrics } = madeUpRun(run, key);
      tables.runs!.push(row);
      tables.metrics!.push(...metrics);
    }
    const rows = { ...tables, ...sharedRows() } as RunRows;
    store.write(keys, { project: "made-up", day: DAY }, rows);
  }
}

function madeUpRun(run: number, key: bigint) {
  const place = { run: key, project: "made-up", day: DAY };
  const build = Math.floor(run / RUNS_PER_BUILD);
  const moment = Date.UTC(2026, 0, 1) + build * 3_600_000;
  const sizes = FRAMES.map((_, context) => {
    const grown = build >= 30 && context === 4 ? 1.5 : 1;
    return Math.round((1000 + 100 * context) * grown * (1 + chance(run * 31 + context) / 50));
  });
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const row = {
    ...place,
    program: "made-up",
    build: `b${String(build).padStart(3, "0")}`,
    commit_id: `c${build}`,
    commit_time: build % 7 === 0 ? undefined : moment,
    started: moment,
    added: moment,
    labels: "{}",
    clock: "ms",
    tool_version: "",
    sampled: false,
    allocated_bytes: total,
    peak_bytes: run % 11 === 0 ? undefined : Math.round(total / 2),
    input_size: run % 5 === 0 ? undefined : 100 + run,
    fields_known: 2 ** 25 - 1,
    derived_calls: true,
    static_data: false,
  };
  const metrics = FRAMES.map((frame, context) => ({
    ...place,
    ctx: contextKey([frameKey(frame)]),
    site: siteKey(FRAMES[context % 4]!),
    alloc_count: 10 + context,
    // The last value is the largest whose sum over all runs fits into 64 bits.
    total_size: context === 8 ? 2n ** 55n + BigInt(run) : sizes[context],
    total_lifetime: context === 2 ? 400_000 * (10 + context) : 1000 * context,
    total_lifetime_access_density: context === 2 ? context : 100_000,
    written_never_read_bytes: run % 3 === 0 ? undefined : context,
    size_log2: [],
    lifetime_log2: [0, 10 + context],
  }));
  return { row, metrics };
}

function sharedRows() {
  return {
    contexts: FRAMES.map((frame) => ({
      ctx: contextKey([frameKey(frame)]),
      ctx_functions: functionsKey([frame.guid]),
      site: siteKey(frame),
      frames: [frameKey(frame)],
    })),
    frames: FRAMES.map(({ lineOffset, ...frame }, index) => ({
      ...frame,
      frame: frameKey(FRAMES[index]!),
      line_offset: lineOffset,
      function_name: `function${index}`,
    })),
  };
}
