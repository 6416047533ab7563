import {
  MODULE_SPAN,
  type WasteFile,
  type WasteIp,
  type WasteLoad,
  type WasteStore,
} from "../../profile/model/waste.ts";
import { type MeasuredProfiles, measuresOf, once, type ToolMeasures } from "./measure.ts";
import {
  type Column,
  type MeasuredFrame,
  type MeasuredModule,
  type MeasuredStacks,
  RowCollector,
} from "./measured-stacks.ts";

const WASTE = "a run with --tool waste (for WebAssembly programs, --tool heap,waste records both)";
const PAIRS = "a run of a WebAssembly program with --tool waste --pairs";

const PARTS = ["stores", "loads", "blocks", "reallocations", "objects"] as const;
type Part = (typeof PARTS)[number];

/** Returns every place that stores, loads, allocates or reallocates, with its callers if they were recorded. */
const wasteStacks = once((file: WasteFile): MeasuredStacks => {
  const collector = new RowCollector();
  for (const part of PARTS) for (const { ips } of file[part] ?? []) collector.add(ips.flatMap(framesOf));
  return {
    tool: "waste",
    name: `waste of ${file.command}`,
    modules: modulesOf(file),
    ...collector.finish(),
    gaps: file.options.contexts ? [] : [`${callersKnown(file)}: record with --tool waste --contexts.`],
    notes: ["The innermost frame is the instruction that stores or loads."],
  };
});

/**
 * Returns the sentence about callers. In native programs, the callers of some functions of the C library are always
 * known.
 */
function callersKnown({ stores }: WasteFile): string {
  return stores.some(({ ips }) => ips.length > 1)
    ? "Who called is known of the C library's functions that copy and fill alone"
    : "Who called is not known";
}

export function firstRowOf(file: WasteFile, part: Part): number {
  const before = PARTS.slice(0, PARTS.indexOf(part));
  return before.reduce((sum, previous) => sum + (file[previous]?.length ?? 0), 0);
}

function framesOf(ip: WasteIp): MeasuredFrame[] {
  const { address, module, inlined = [] } = ip;
  const place = { address, module, moduleIndex: moduleOf(address), offset: address % MODULE_SPAN };
  return [ip, ...inlined].map(
    ({ function: name, file, line, startLine, library, approximate }, depth): MeasuredFrame => ({
      function: name,
      // Placeholder of the engine for a missing function name.
      isNameless: name === undefined || /^func\[\d+\]$/.test(name) || undefined,
      file,
      line,
      startLine,
      library,
      approximate: approximate || undefined,
      ...place,
      isInlined: depth < inlined.length || undefined,
    }),
  );
}

function modulesOf({
  modules = [],
  stores,
  loads,
  blocks = [],
  reallocations = [],
}: WasteFile): MeasuredModule[] {
  const used = [stores, loads, blocks, reallocations].flatMap((rows) =>
    rows.flatMap(({ ips }) => ips.map(({ address }) => moduleOf(address))),
  );
  const count =
    [...used, ...modules.map(({ index }) => index)].reduce((most, index) => Math.max(most, index), -1) + 1;
  const modulesByIndex = new Map(modules.map((module) => [module.index, module]));
  return Array.from({ length: count }, (_, index) => {
    const { name = `module ${index}`, buildId } = modulesByIndex.get(index) ?? {};
    return { index, name, buildId };
  });
}

function moduleOf(address: number): number {
  return Math.floor(address / MODULE_SPAN);
}

function ofPart<Row>(
  file: WasteFile,
  part: Part,
  rows: readonly Row[],
  amountOf: (row: Row) => number,
  whole?: number,
): Column {
  const amounts = new Float64Array(PARTS.reduce((sum, anyPart) => sum + (file[anyPart]?.length ?? 0), 0));
  const first = firstRowOf(file, part);
  let sum = 0;
  for (const [index, row] of rows.entries()) {
    amounts[first + index] = amountOf(row);
    sum += amounts[first + index]!;
  }
  return { amounts, rest: whole === undefined ? undefined : Math.max(0, whole - sum) };
}

const ofStores =
  (amountOf: (store: WasteStore) => number, whole?: (totals: WasteFile["totals"]) => number) =>
  (file: WasteFile): Column =>
    ofPart(file, "stores", file.stores, amountOf, whole?.(file.totals));

const ofLoads =
  (amountOf: (load: WasteLoad) => number, whole?: (totals: WasteFile["totals"]) => number) =>
  (file: WasteFile): Column =>
    ofPart(file, "loads", file.loads, amountOf, whole?.(file.totals));

/** Returns why figures are unknown: zeros would be wrong for a run without followed modules. */
function whyUnknown({ waste }: MeasuredProfiles): string | undefined {
  return waste?.modules?.length === 0
    ? "nothing was recorded, as there was no module that the tool could follow"
    : undefined;
}

/** Returns why runs differ: the definition of redundant loads depends on the recording options. */
function enginesDiffer(older: MeasuredProfiles, newer: MeasuredProfiles): string | undefined {
  return older.waste?.options.engine === newer.waste?.options.engine
    ? undefined
    : "the two runs were recorded with other options of the waste tool";
}

const STORES = { count: "stores", counted: "stores" } as const;
const LOADS = { count: "loads", counted: "loads" } as const;

export const WASTE_MEASURES: ToolMeasures = {
  tool: "waste",
  name: "waste",
  whole: "waste",
  recordedWith: "waste",
  first: ["dead", "dead-ended", "silent-bytes", "written", "loaded"],
  stacks: ({ waste }) => waste && wasteStacks(waste),
  gaps: ({ waste }) => waste?.notTracked ?? [],
  measures: measuresOf("waste", { needs: WASTE, unknown: whyUnknown }, [
    {
      id: "dead",
      aliases: [{ word: "waste", in: ["trend"] }],
      isMain: true,
      unit: "bytes",
      title: "dead bytes",
      meaning: "stored bytes that were overwritten before they were read",
      figures: ["dead"],
      partOf: "written",
      sample: { type: "dead_store_bytes", done: { verb: "Stored in vain", ...STORES } },
      beside: ["dead-part", "stores"],
      column: ofStores(
        (store) => store.dead_overwritten,
        (totals) => totals.deadOverwritten,
      ),
    },
    {
      id: "dead-ended",
      isMain: true,
      unit: "bytes",
      head: "ENDED",
      title: "bytes unread when their block, frame or run ended",
      meaning: "stored bytes that were still unread when their block, stack frame or the run ended",
      explainedBy: "dead",
      figures: ["dead"],
      partOf: "written",
      sample: { type: "dead_ended_store_bytes", done: { verb: "Stored for nobody", ...STORES } },
      beside: ["written", "stores"],
      column: ofStores(
        (store) => store.dead_deallocated + store.dead_exit,
        (totals) => totals.deadDeallocated + totals.deadExit,
      ),
    },
    {
      id: "silent",
      isMain: true,
      aliases: [{ word: "silent-stores", in: ["export"] }],
      unit: "stores",
      title: "silent stores",
      meaning: "stores of the value that is already there",
      figures: ["written"],
      partOf: "stores",
      sample: { type: "silent_stores" },
      beside: ["silent-part", "stores"],
      column: ofStores(
        (store) => store.nof_silent,
        (totals) => totals.silentStores,
      ),
    },
    {
      id: "redundant",
      isMain: true,
      unit: "loads",
      title: "redundant loads",
      meaning: "loads of bytes that were loaded before and not changed since",
      figures: ["written"],
      partOf: "loads",
      sample: { type: "redundant_loads" },
      differs: enginesDiffer,
      beside: ["redundant-part", "loads"],
      column: ofLoads(({ nof_silent, nof_redundant = nof_silent }) => nof_redundant),
    },
    {
      id: "written",
      aliases: [{ word: "store-bytes", in: ["export"] }, "stored"],
      isMain: true,
      unit: "bytes",
      title: "bytes written",
      meaning: "bytes stored",
      explainedBy: "dead",
      figures: ["written"],
      partOf: "written",
      sample: { type: "store_bytes", done: { verb: "Stored", ...STORES } },
      beside: ["stores", "dead"],
      column: ofStores(
        (store) => store.bytes_written,
        (totals) => totals.bytesWritten,
      ),
    },
    {
      id: "stores",
      isMain: true,
      unit: "stores",
      title: "stores",
      meaning: "stores that were executed",
      explainedBy: "silent",
      figures: ["written"],
      partOf: "stores",
      sample: { type: "stores" },
      beside: ["written", "silent"],
      column: ofStores(
        (store) => store.nof_stores,
        (totals) => totals.stores,
      ),
    },
    {
      id: "loads",
      isMain: true,
      unit: "loads",
      title: "loads",
      meaning: "loads that were executed",
      explainedBy: "redundant",
      figures: ["written"],
      partOf: "loads",
      sample: { type: "loads" },
      beside: ["loaded", "redundant"],
      column: ofLoads(
        (load) => load.nof_loads,
        (totals) => totals.loads,
      ),
    },
    {
      id: "loaded",
      aliases: [{ word: "load-bytes", in: ["export"] }],
      unit: "bytes",
      title: "bytes loaded",
      meaning: "bytes loaded",
      explainedBy: "redundant",
      figures: ["written"],
      partOf: "loaded",
      sample: { type: "load_bytes", done: { verb: "Loaded", ...LOADS } },
      beside: ["loads", "redundant"],
      column: ofLoads(
        (load) => load.bytes_loaded,
        (totals) => totals.bytesLoaded,
      ),
    },
    {
      id: "silent-bytes",
      unit: "bytes",
      head: "SILENT",
      title: "bytes of silent stores",
      meaning: "bytes of stores of the value that is already there",
      explainedBy: "silent",
      figures: ["written"],
      partOf: "written",
      sample: {
        type: "silent_store_bytes",
        done: { verb: "Stored as it was", count: "silent", counted: "stores" },
      },
      beside: ["silent", "written"],
      column: ofStores((store) => store.bytes_silent),
    },
    {
      id: "redundant-bytes",
      unit: "bytes",
      head: "REDUNDANT",
      title: "bytes of redundant loads",
      meaning: "bytes of loads of bytes that were loaded before and not changed since",
      explainedBy: "redundant",
      figures: ["written"],
      partOf: "loaded",
      needs: PAIRS,
      sample: { type: "redundant_load_bytes", done: { verb: "Loaded again", ...LOADS } },
      differs: enginesDiffer,
      beside: ["redundant", "loaded"],
      column: (file) =>
        file.loads.some(({ bytes_redundant }) => bytes_redundant !== undefined)
          ? ofLoads(({ bytes_redundant = 0 }) => bytes_redundant)(file)
          : undefined,
    },
    {
      id: "silent-loads",
      unit: "loads",
      head: "SILENT",
      title: "silent loads",
      meaning: "loads that found the same value as the previous load of the same instruction and address",
      explainedBy: "silent",
      figures: ["written"],
      partOf: "loads",
      sample: { type: "silent_loads" },
      differs: enginesDiffer,
      beside: ["loads", "redundant"],
      column: ofLoads(
        (load) => load.nof_silent,
        (totals) => totals.silentLoads,
      ),
    },
    {
      id: "stored-unread",
      unit: "bytes",
      head: "UNREAD",
      title: "bytes of blocks stored and never read",
      meaning: "bytes stored to blocks and never read, by allocation site",
      explainedBy: "never-read",
      figures: ["dead"],
      partOf: "stored-unread",
      sample: {
        type: "stored_unread_space",
        done: { verb: "Stored and not read", count: "stores", counted: "stores" },
      },
      column: (file) =>
        file.blocks === undefined || file.blocks.length === 0
          ? undefined
          : ofPart(file, "blocks", file.blocks, ({ never_read }) => never_read),
    },
    {
      id: "moved-bytes",
      unit: "bytes",
      head: "MOVED",
      title: "bytes moved by realloc",
      meaning: "bytes that realloc copied to a new block",
      explainedBy: "moved",
      figures: ["written"],
      partOf: "moved-bytes",
      needs: PAIRS,
      sample: {
        type: "moved_space",
        done: { verb: "Moved by realloc", count: "stores", counted: "stores" },
      },
      column: (file) =>
        file.reallocations === undefined || file.reallocations.length === 0
          ? undefined
          : ofPart(file, "reallocations", file.reallocations, ({ moved }) => moved),
    },
    {
      id: "dead-part",
      unit: "part",
      head: "% DEAD",
      title: "dead part of the bytes written",
      meaning: "dead bytes as a part of all bytes stored",
      explainedBy: "dead",
      figures: ["dead", "written"],
      combine: { of: "dead", by: "written" },
      beside: ["dead", "written"],
    },
    {
      id: "silent-part",
      unit: "part",
      head: "% SILENT",
      title: "silent part of the stores",
      meaning: "silent stores as a part of all stores",
      explainedBy: "silent",
      figures: ["written"],
      combine: { of: "silent", by: "stores" },
      beside: ["silent", "stores"],
    },
    {
      id: "redundant-part",
      unit: "part",
      head: "% REDUND.",
      title: "redundant part of the loads",
      meaning: "redundant loads as a part of all loads",
      explainedBy: "redundant",
      figures: ["written"],
      combine: { of: "redundant", by: "loads" },
      differs: enginesDiffer,
      beside: ["redundant", "loads"],
    },
  ]),
};
