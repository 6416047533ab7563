import { FrameRules } from "../../../../src/explain/analyses/frames/frame-rules.ts";
import { markWaste } from "../../../../src/explain/analyses/frames/mark-frames.ts";
import type { WasteBlocks, WasteFile, WasteLoad, WasteStore } from "../../../../src/profile/model/waste.ts";

/** A store site by function and line, with the figures under test. */
export function store(name: string, line: number, figures: Partial<WasteStore>): WasteStore {
  return {
    ips: [{ address: line * 16, function: name, file: `src/${name}.c`, line }],
    bytes_written: 0,
    bytes_read: 0,
    nof_stores: 0,
    nof_silent: 0,
    bytes_dead: figures.dead_overwritten ?? 0,
    dead_overwritten: 0,
    dead_deallocated: 0,
    dead_exit: 0,
    bytes_silent: 0,
    host_assumed_read: 0,
    class: "plain",
    ...figures,
  };
}

export function load(name: string, line: number, figures: Partial<WasteLoad>): WasteLoad {
  return {
    ips: [{ address: line * 16 + 8, function: name, file: `src/${name}.c`, line }],
    nof_loads: 0,
    nof_silent: 0,
    bytes_loaded: 0,
    class: "plain",
    ...figures,
  };
}

/** Ten blocks of 160 bytes, all read, except for the figures under test. */
export function blocks(figures: Partial<WasteBlocks>): WasteBlocks {
  return {
    ips: [{ address: 7, function: "make", file: "src/make.c", line: 7 }],
    blocks: 10,
    bytes: 1600,
    size: 160,
    varies: false,
    unread_blocks: 0,
    unread_bytes: 0,
    never_read: figures.unread_bytes ?? 0,
    ...figures,
  };
}

/** A whole file: totals follow from the sites, and file names give the library. */
export function wasteOf(
  sites: Pick<Partial<WasteFile>, "stores" | "loads" | "pairs" | "ends" | "objects" | "blocks">,
): WasteFile {
  const stores = sites.stores ?? [];
  const loads = sites.loads ?? [];
  const sum = <T>(rows: readonly T[], figure: (row: T) => number) =>
    rows.reduce((total, row) => total + figure(row), 0);
  const file: WasteFile = {
    schema: "memshade-waste",
    version: 1,
    command: "parse big.json",
    options: {
      engine: sites.pairs ? "full" : "brief",
      contexts: false,
      objects: false,
      compat: "",
    },
    totals: {
      bytesWritten: sum(stores, (row) => row.bytes_written),
      bytesRead: sum(stores, (row) => row.bytes_read),
      deadOverwritten: sum(stores, (row) => row.dead_overwritten),
      deadDeallocated: sum(stores, (row) => row.dead_deallocated),
      deadExit: sum(stores, (row) => row.dead_exit),
      hostAssumedRead: sum(stores, (row) => row.host_assumed_read),
      stores: sum(stores, (row) => row.nof_stores),
      silentStores: sum(stores, (row) => row.nof_silent),
      loads: sum(loads, (row) => row.nof_loads),
      bytesLoaded: sum(loads, (row) => row.bytes_loaded),
      silentLoads: sum(loads, (row) => row.nof_silent),
    },
    stores,
    loads,
    ...sites,
    notTracked: [],
  };
  markWaste(file, new FrameRules());
  return file;
}
