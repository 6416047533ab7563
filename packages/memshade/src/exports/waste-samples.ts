import type { SampleFrame, SampleModule } from "../model/sample-profile.ts";
import {
  MODULE_SPAN,
  type WasteFile,
  type WasteIp,
  type WasteLoad,
  type WasteStore,
} from "../model/waste/waste.ts";
import { type ExportedSamples, exportedSamples, type Weight, type WeightColumn } from "./exported.ts";

const LOADS_COUNTED = { verb: "Loaded", type: "loads", counted: "loads" } as const;

/** What places that store or load have, in the order of files: what readers look at first comes last. */
export const WASTE_WEIGHTS = {
  loads: { key: "loads", type: "loads", unit: "count", says: "loads executed" },
  silentLoads: {
    key: "silent-loads",
    type: "silent_loads",
    unit: "count",
    says: "loads that found what the same place had loaded from there before",
  },
  stores: { key: "stores", type: "stores", unit: "count", says: "stores executed" },
  silentStores: {
    key: "silent-stores",
    type: "silent_stores",
    unit: "count",
    says: "stores of what was there already",
  },
  loadBytes: {
    key: "load-bytes",
    type: "load_bytes",
    unit: "bytes",
    says: "bytes loaded",
    with: LOADS_COUNTED,
  },
  redundantBytes: {
    key: "redundant",
    type: "redundant_load_bytes",
    unit: "bytes",
    says: "bytes loaded that were loaded from there before and had not changed",
    with: { ...LOADS_COUNTED, verb: "Loaded again" },
  },
  storeBytes: {
    key: "store-bytes",
    type: "store_bytes",
    unit: "bytes",
    says: "bytes stored",
    with: { verb: "Stored", type: "stores", counted: "stores" },
  },
  silentBytes: {
    key: "silent",
    type: "silent_store_bytes",
    unit: "bytes",
    says: "bytes stored that were there already",
    with: { verb: "Stored as it was", type: "silent_stores", counted: "stores" },
  },
  endedBytes: {
    key: "dead-ended",
    type: "dead_ended_store_bytes",
    unit: "bytes",
    says: "bytes stored that nobody had read when their block, their frame or the run ended",
    with: { verb: "Stored for nobody", type: "stores", counted: "stores" },
  },
  deadBytes: {
    key: "dead",
    type: "dead_store_bytes",
    unit: "bytes",
    says: "bytes stored that were overwritten before anything read them",
    with: { verb: "Stored in vain", type: "stores", counted: "stores" },
  },
} as const satisfies Record<string, Weight>;

/** The places that store and load, with the calls that led there where they were told apart. */
export function wasteSamples(file: WasteFile): ExportedSamples {
  const { stores, loads, totals } = file;
  const of = (
    key: keyof typeof WASTE_WEIGHTS,
    store: ((place: WasteStore) => number) | undefined,
    load: ((place: WasteLoad) => number) | undefined,
    total?: number,
  ): WeightColumn => ({
    weight: WASTE_WEIGHTS[key],
    values: [...stores.map((place) => store?.(place) ?? 0), ...loads.map((place) => load?.(place) ?? 0)],
    total,
  });
  const redundant = loads.some((place) => place.bytes_redundant !== undefined);
  const ended = totals.deadDeallocated + totals.deadExit;
  return exportedSamples({
    name: `waste of ${file.command}`,
    modules: modulesOf(file),
    stacks: [...stores, ...loads].map(({ ips }) => ips.flatMap(framesOf)),
    columns: [
      of("loads", undefined, ({ nof_loads }) => nof_loads, totals.loads),
      of("silentLoads", undefined, ({ nof_silent }) => nof_silent, totals.silentLoads),
      of("stores", ({ nof_stores }) => nof_stores, undefined, totals.stores),
      of("silentStores", ({ nof_silent }) => nof_silent, undefined, totals.silentStores),
      of("loadBytes", undefined, ({ bytes_loaded }) => bytes_loaded, totals.bytesLoaded),
      ...(redundant ? [of("redundantBytes", undefined, ({ bytes_redundant }) => bytes_redundant ?? 0)] : []),
      of("storeBytes", ({ bytes_written }) => bytes_written, undefined, totals.bytesWritten),
      of("silentBytes", ({ bytes_silent }) => bytes_silent, undefined),
      of("endedBytes", (place) => place.dead_deallocated + place.dead_exit, undefined, ended),
      of("deadBytes", (place) => place.dead_overwritten, undefined, totals.deadOverwritten),
    ],
    shown: ["dead", "dead-ended", "silent", "store-bytes", "load-bytes"],
    notes: [
      "The innermost frame is the instruction that stores or loads.",
      ...(file.options.contexts
        ? []
        : ["Calls that led to a place were not told apart: run with --contexts."]),
      ...file.notTracked,
    ],
  });
}

function modulesOf({ modules = [], stores, loads }: WasteFile): SampleModule[] {
  const ends = new Map<number, number>();
  for (const { address } of [...stores, ...loads].flatMap(({ ips }) => ips)) {
    const index = moduleOf(address);
    ends.set(index, Math.max(ends.get(index) ?? 0, (address % MODULE_SPAN) + 1));
  }
  const count = Math.max(-1, ...ends.keys(), ...modules.map(({ index }) => index)) + 1;
  const known = new Map(modules.map((module) => [module.index, module]));
  return Array.from({ length: count }, (_, index) => {
    const { name = `module ${index}`, buildId } = known.get(index) ?? {};
    return { name, buildId, start: 0, end: ends.get(index) ?? 0 };
  });
}

function moduleOf(address: number): number {
  return Math.floor(address / MODULE_SPAN);
}

/** A place with the functions that it is inlined into, innermost first. */
function framesOf(ip: WasteIp): SampleFrame[] {
  const { address, module, inlined = [], function: name, file, line, library } = ip;
  const of = module === undefined ? "" : ` of ${module}`;
  const place = { address: address % MODULE_SPAN, module: moduleOf(address) };
  const levels = [{ function: name, file, line, library }, ...inlined];
  return levels.map((level, depth) => ({
    ...{ function: `${level.function ?? "[unknown code]"}${of}`, file: level.file, line: level.line },
    ...{ library: level.library, ...place, inlined: depth < levels.length - 1 ? true : undefined },
  }));
}
