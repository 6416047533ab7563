import type { WasteFile, WasteLoad, WasteStore } from "../../model/waste/waste.ts";
import type { RecordedTools } from "../findings/run-findings.ts";
import { added, type Measure } from "./measure.ts";
import { wasteMeasuredPlace } from "./measured-place.ts";

const WASTE = "a run with --tool waste (--tool heap,waste records both)";

function ofStores(amountOf: (store: WasteStore) => number): Measure["measure"] {
  return ofSites(({ stores }) => stores, amountOf);
}

function ofLoads(amountOf: (load: WasteLoad) => number): Measure["measure"] {
  return ofSites(({ loads }) => loads, amountOf);
}

function ofSites<Site extends WasteStore | WasteLoad>(
  sitesOf: (waste: WasteFile) => readonly Site[],
  amountOf: (site: Site) => number,
): Measure["measure"] {
  return ({ waste }, chosen) => {
    if (waste === undefined) return undefined;
    const places = sitesOf(waste).map((site) => ({
      place: wasteMeasuredPlace(waste, site.ips),
      amount: amountOf(site),
    }));
    return added(places, chosen);
  };
}

/** What redundant loads are depends on how a run was recorded. */
function enginesDiffer(older: RecordedTools, newer: RecordedTools): string | undefined {
  return older.waste?.options.engine === newer.waste?.options.engine
    ? undefined
    : "the two runs were recorded with other options of the waste tool";
}

export const WASTE_MEASURES: readonly Measure[] = [
  {
    word: "dead",
    tool: "waste",
    unit: "bytes",
    what: "bytes stored that were overwritten before anything read them",
    partOf: "written",
    needs: WASTE,
    measure: ofStores(({ dead_overwritten }) => dead_overwritten),
  },
  {
    word: "dead-ended",
    tool: "waste",
    unit: "bytes",
    what: "bytes stored that nobody had read when their block, their frame or the run ended",
    partOf: "written",
    needs: WASTE,
    measure: ofStores(({ dead_deallocated, dead_exit }) => dead_deallocated + dead_exit),
  },
  {
    word: "silent",
    tool: "waste",
    unit: "stores",
    what: "stores of what was there already",
    partOf: "stores",
    needs: WASTE,
    measure: ofStores(({ nof_silent }) => nof_silent),
  },
  {
    word: "redundant",
    tool: "waste",
    unit: "loads",
    what: "loads of what had been loaded before and not changed since",
    partOf: "loads",
    needs: WASTE,
    differs: enginesDiffer,
    measure: ofLoads(({ nof_silent, nof_redundant = nof_silent }) => nof_redundant),
  },
  {
    word: "written",
    tool: "waste",
    unit: "bytes",
    what: "bytes stored",
    partOf: "written",
    needs: WASTE,
    measure: ofStores(({ bytes_written }) => bytes_written),
  },
  {
    word: "stores",
    tool: "waste",
    unit: "stores",
    what: "stores that were executed",
    partOf: "stores",
    needs: WASTE,
    measure: ofStores(({ nof_stores }) => nof_stores),
  },
  {
    word: "loads",
    tool: "waste",
    unit: "loads",
    what: "loads that were executed",
    partOf: "loads",
    needs: WASTE,
    measure: ofLoads(({ nof_loads }) => nof_loads),
  },
];
