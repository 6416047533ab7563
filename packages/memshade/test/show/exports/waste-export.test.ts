import { describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { exportedTool, fitsFormat, writeStacks } from "../../../src/show/exports/export-formats.ts";
import { load, store, wasteOf } from "../../explain/analyses/waste/waste-picture.ts";
import { contentOf, readStacks, sumsOf } from "./readers.ts";

type StackFormat = Parameters<typeof writeStacks>[0];

function exported(profile: WasteFile, format: StackFormat, by = "dead") {
  const recorded = { tool: "waste", profile } as const;
  const tool = exportedTool(recorded);
  const index = tool.weights.findIndex(({ key }) => key === by);
  return readStacks(format, contentOf(writeStacks(format, recorded, tool, index)));
}

const DEAD = store("fill", 4, {
  bytes_written: 100,
  nof_stores: 25,
  nof_silent: 5,
  bytes_silent: 20,
  dead_overwritten: 60,
});
const INLINED = {
  ...store("put", 9, { bytes_written: 8, nof_stores: 2, dead_overwritten: 4 }),
  ips: [
    {
      address: 2 ** 32 + 0x90,
      function: "put",
      file: "src/put.h",
      line: 9,
      inlined: [{ function: "push", file: "src/push.h", line: 3 }, { function: "main" }],
    },
    { address: 2 ** 32 + 0x20, function: "start", file: "src/start.c", line: 1 },
  ],
};
const FILE = wasteOf({
  stores: [DEAD, INLINED],
  loads: [load("scan", 7, { nof_loads: 1000, nof_silent: 900, bytes_loaded: 4000 })],
});
const STACKS = ["pprof", "firefox", "speedscope"] as const;

describe("waste in files of other viewers", () => {
  it.each(STACKS)("keeps the totals of the run (%s)", (format) => {
    const { totals } = FILE;
    expect(sumsOf(exported(FILE, format))).toEqual({
      loads: totals.loads,
      silent_loads: totals.silentLoads,
      stores: totals.stores,
      silent_stores: totals.silentStores,
      load_bytes: totals.bytesLoaded,
      store_bytes: totals.bytesWritten,
      silent_store_bytes: 20,
      redundant_loads: 900,
      dead_ended_store_bytes: totals.deadDeallocated + totals.deadExit,
      dead_store_bytes: totals.deadOverwritten,
    });
  });

  it.each(STACKS)("keeps lines, and what places are inlined into (%s)", (format) => {
    const dead = exported(FILE, format).dead_store_bytes!.filter(({ weight }) => weight > 0);
    expect(dead).toEqual([
      { frames: ["fill src/fill.c:4"], weight: 60 },
      { frames: ["start src/start.c:1", "main", "push src/push.h:3", "put src/put.h:9"], weight: 4 },
    ]);
  });

  it("marks inlined frames in folded stacks", () => {
    expect(exported(FILE, "folded").weight).toContainEqual({
      frames: ["start", "main", "push_[i]", "put_[i]"],
      weight: 4,
    });
  });

  it("tells DHAT what was done with the bytes, and how often", () => {
    const recorded = { tool: "waste", profile: FILE } as const;
    const tool = exportedTool(recorded);
    const silent = tool.weights.findIndex(({ key }) => key === "silent-bytes");
    const file = JSON.parse(contentOf(writeStacks("dhat", recorded, tool, silent)).toString());
    expect(file).toMatchObject({ verb: "Stored as it was", bksu: "stores", te: 1027 });
    expect(sumsOf(exported(FILE, "dhat", "silent-bytes"))).toEqual({ tb: 20, tbk: 5 });
    const fits = tool.weights.filter((weight) => fitsFormat("dhat", recorded, weight));
    expect(fits.map(({ unit }) => unit)).toEqual(fits.map(() => "bytes"));
  });

  it("has what loads repeat where the run counted it, and what the totals have and no place", () => {
    const file = wasteOf({
      loads: [load("scan", 7, { nof_loads: 4, bytes_loaded: 16, bytes_redundant: 12 })],
    });
    file.totals.loads = 6;
    const read = exported(file, "pprof");
    expect(sumsOf(read).redundant_load_bytes).toBe(12);
    expect(read.loads).toContainEqual({ frames: ["[in no context]"], weight: 2 });
  });
});
