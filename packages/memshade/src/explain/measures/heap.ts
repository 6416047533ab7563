import type { HeapProfile, SiteField } from "../../profile/model/heap-profile.ts";
import { type IndexIntoFrameTable, NONE } from "../../profile/model/indices.ts";
import { knowsField, siteColumn } from "../../profile/model/known-fields.ts";
import { MODULE_SPAN } from "../../profile/model/waste.ts";
import { ambiguousFunctions } from "../analyses/ambiguous-functions.ts";
import type { BlockMeasure } from "../analyses/block-measure.ts";
import { draggedBlocks } from "../analyses/dragged-blocks.ts";
import { functionNumber } from "../analyses/frames/frame-name.ts";
import { areAccessesCut } from "../analyses/granule-accesses.ts";
import { type GroupBy, groupContexts } from "../analyses/groups.ts";
import { copiedBytes, spareBytes } from "../analyses/growth.ts";
import { isUseKnown, whyHeapUnknown, whyLostUnknown } from "../analyses/heap.ts";
import { marginOf, variancesIn, withVariances } from "../analyses/host-stacks.ts";
import { liveBlocksOf } from "../analyses/live-blocks.ts";
import { temporaryBlocks } from "../analyses/temporary.ts";
import { neverAccessed, writtenNeverRead } from "../analyses/unused-blocks.ts";
import { gapsOf } from "./gaps.ts";
import { type MeasuredProfiles, measuresOf, once, type ToolMeasures } from "./measure.ts";
import type { Column, MeasuredFrame, MeasuredStacks, RowGroups } from "./measured-stacks.ts";

const HEAP = "a run with --tool heap";
const HEAP_OR_ALLOC = "a run with --tool heap or alloc";

/** Returns the contexts of a heap profile as rows. A row's site is the frame that names it. */
const heapStacks = once((profile: HeapProfile): MeasuredStacks => {
  const { contexts, description, modules, stacks } = profile;
  return {
    tool: "heap",
    name: `heap of ${description.program ?? modules[0]?.name ?? "a program"}`,
    modules: modules.map(({ name, path, buildId, knows, start, end }, index) => ({
      index,
      name,
      path,
      buildId: buildId === "" ? undefined : buildId,
      knows,
      bytes: Number(end - start),
    })),
    stacks: {
      frames: Array.from({ length: profile.frames.length }, (_, frame) =>
        frameOf(profile, frame as IndexIntoFrameTable),
      ),
      prefix: stacks.prefix,
      frame: stacks.frame,
    },
    rows: contexts.stack,
    clock: description.clock,
    sites: contexts.siteStack ?? contexts.stack,
    gaps: [],
    notes: [
      `Lifetimes and the order of events are by ${description.clock.kind === "virtual" ? "a virtual clock" : "a real clock"} of ${description.clock.unit}.`,
    ],
    varianceIn: ({ amounts }, unit) =>
      variancesIn(contexts, amounts, unit === "bytes" ? "totalSize" : "allocCount"),
    marginOf: ({ amounts }, unit, rows) =>
      marginOf(profile, amounts, rows, unit === "bytes" ? "totalSize" : "allocCount"),
  };
});

function frameOf(profile: HeapProfile, frame: IndexIntoFrameTable): MeasuredFrame {
  const { frames, functions, modules, strings } = profile;
  const row = frames.function[frame]!;
  const [name, module] = [functions.name[row]!, functions.module[row]!];
  const file = frames.file[frame]!;
  const isInModule = module !== NONE;
  // A number in native code already names the module.
  const isTelling =
    modules.length < 2 ||
    (name === NONE
      ? isInModule && modules[module]!.objectAddress !== undefined
      : !ambiguousFunctions(profile).has(strings[name]!));
  return {
    function: name !== NONE ? strings[name] : functionNumber(profile, row),
    isNameless: name === NONE || undefined,
    module: isTelling || !isInModule ? undefined : modules[module]!.name,
    moduleIndex: isInModule ? module : undefined,
    file: file === NONE ? undefined : strings[file],
    line: frames.line[frame] || undefined,
    column: frames.column[frame] || undefined,
    startLine: frames.startLine?.[frame] || undefined,
    approximate: frames.approximate?.[frame] === 1 || undefined,
    offset: frames.offset[frame],
    address: isInModule ? module * MODULE_SPAN + frames.offset[frame]! : undefined,
    isInlined: frames.inlined[frame] === 1 || undefined,
    isFromHost: frames.fromHost[frame] === 1 || undefined,
    language: frames.host?.[frame] === undefined ? undefined : "JavaScript",
    library: frames.library?.[frame],
  };
}

type MibTotal = "totalSize" | "allocCount" | "totalAccessCount" | "totalLifetime";

function ofBlocks(profile: HeapProfile, field: MibTotal, total?: number): Column | undefined {
  return knowsField(profile, field) ? withWhole(profile.contexts.mibs[field], total) : undefined;
}

function ofSite(profile: HeapProfile, field: SiteField, total?: number): Column | undefined {
  const amounts = siteColumn(profile, field);
  return amounts && withWhole(amounts, total);
}

function withWhole(amounts: Column["amounts"], whole: number | undefined): Column {
  if (whole === undefined) return { amounts };
  let sum = 0;
  for (let row = 0; row < amounts.length; row++) sum += Number(amounts[row]);
  return { amounts, rest: whole - sum };
}

/** Returns the live blocks at the end, without suppressed ones. */
function liveUnsuppressed(profile: HeapProfile, quantity: "Bytes" | "Blocks"): Column | undefined {
  const live = ofSite(profile, `live${quantity}`, profile.description.totals?.[`live${quantity}`]);
  const suppressed = profile.contexts.site?.[`suppressed${quantity}`];
  if (live === undefined || suppressed === undefined || suppressed.every((amount) => amount === 0))
    return live;
  const whole = quantity === "Bytes" ? "totalSize" : "allocCount";
  const varianceIn = variancesIn(profile.contexts, live.amounts, whole);
  const amounts = suppressed.map((amount, row) => Number(live.amounts[row]) - amount);
  if (varianceIn !== undefined)
    withVariances(
      amounts,
      amounts.map((_, row) => varianceIn(row)),
    );
  return { amounts, rest: live.rest };
}

function lost(profile: HeapProfile, quantity: "bytes" | "blocks"): Column | undefined {
  const [definite, indirect] = [liveBlocksOf(profile, "definite"), liveBlocksOf(profile, "indirect")];
  return (
    definite &&
    indirect && { amounts: definite[quantity].map((amount, row) => amount + indirect[quantity][row]!) }
  );
}

const whyLost = ({ heap }: MeasuredProfiles): string | undefined =>
  whyHeapUnknown({ heap }) ?? (heap && whyLostUnknown(heap));

function ofMeasure(measure: BlockMeasure | undefined, quantity: "bytes" | "blocks"): Column | undefined {
  return measure && { amounts: measure[quantity], isLowerBound: measure.isLowerBound };
}

/** Returns a measure of the use of blocks; undefined if use was not recorded. */
function ofUse(
  profile: HeapProfile,
  measureOf: (profile: HeapProfile) => BlockMeasure | undefined,
): Column | undefined {
  return isUseKnown(profile) ? ofMeasure(measureOf(profile), "bytes") : undefined;
}

function ofAmounts(amounts: Float64Array | undefined): Column | undefined {
  return amounts && { amounts };
}

function clocksDiffer(older: MeasuredProfiles, newer: MeasuredProfiles): string | undefined {
  const [old, now] = [older.heap?.description.clock.unit, newer.heap?.description.clock.unit];
  return old === now ? undefined : `the two runs have different clocks, ${old} and ${now}`;
}

/** Groups contexts. Compiler-made copies of a call are one site of the heap. */
function heapGroups(heap: HeapProfile, by: GroupBy): RowGroups {
  const { contexts: rows, ...groups } = groupContexts(heap, by);
  return { ...groups, rows };
}

const PLAIN = ["top", "tree", "diff", "export"] as const;

export const HEAP_MEASURES: ToolMeasures = {
  tool: "heap",
  name: "heap",
  whole: "the heap",
  recordedWith: "heap",
  first: ["peak", "bytes", "left"],
  stacks: ({ heap }) => heap && heapStacks(heap),
  groups: ({ heap }, by) => heap && heapGroups(heap, by),
  gaps: ({ heap }) => (heap === undefined ? [] : gapsOf(heap)),
  measures: measuresOf("heap", { needs: HEAP_OR_ALLOC, unknown: whyHeapUnknown }, [
    {
      id: "bytes",
      aliases: ["size"],
      isMain: true,
      unit: "bytes",
      title: "bytes allocated",
      meaning: "bytes of all blocks allocated",
      explainedBy: "block",
      figures: ["allocated"],
      partOf: "bytes",
      sample: { type: "alloc_space" },
      beside: ["blocks", "lifetime", "density"],
      column: (heap) => ofBlocks(heap, "totalSize", heap.description.totals?.allocatedBytes),
    },
    {
      id: "peak",
      isMain: true,
      unit: "bytes",
      title: "bytes live at the peak",
      meaning: "bytes of the blocks that were live when the heap was largest",
      figures: ["peak"],
      partOf: "peak",
      sample: { type: "peak_space" },
      beside: ["bytes", "lifetime", "density"],
      column: (heap) => ofSite(heap, "peakBytes", heap.description.totals?.peakBytes),
    },
    {
      id: "left",
      aliases: ["live", { word: "leak", in: PLAIN }],
      isMain: true,
      unit: "bytes",
      title: "bytes live at the end",
      meaning: "bytes of the blocks that were live at the end, without suppressed ones",
      explainedBy: "live",
      figures: ["left"],
      partOf: "bytes",
      sample: { type: "inuse_space" },
      beside: ["bytes", "blocks", "density"],
      column: (heap) => liveUnsuppressed(heap, "Bytes"),
    },
    {
      id: "lost",
      isMain: true,
      unit: "bytes",
      title: "bytes lost at the end",
      meaning: "bytes of live blocks to which no pointer is left, indirectly lost ones included",
      figures: ["left", "lost"],
      unknown: whyLost,
      partOf: "bytes",
      sample: { type: "lost_space" },
      beside: ["left", "bytes", "blocks"],
      column: (heap) => lost(heap, "bytes"),
    },
    {
      id: "blocks",
      aliases: ["count"],
      isMain: true,
      unit: "blocks",
      title: "blocks allocated",
      meaning: "blocks allocated",
      explainedBy: "block",
      figures: ["allocated"],
      partOf: "blocks",
      sample: { type: "alloc_objects" },
      beside: ["bytes", "lifetime", "density"],
      column: (heap) => ofBlocks(heap, "allocCount", heap.description.totals?.allocations),
    },
    {
      id: "accesses",
      isMain: true,
      unit: "accesses",
      title: "accesses",
      meaning: "loads and stores of heap blocks",
      figures: ["accesses"],
      partOf: "accesses",
      needs: HEAP,
      remark: ({ heap }) =>
        heap !== undefined && areAccessesCut(heap)
          ? "Counters may have been full: so many or more."
          : undefined,
      sample: { type: "accesses" },
      beside: ["bytes", "blocks", "density"],
      column: (heap) => ofBlocks(heap, "totalAccessCount", heap.description.totals?.heapAccesses),
    },
    {
      id: "density",
      aliases: [
        { word: "unused", in: ["top"], isReversed: true },
        { word: "unused", in: ["diff"] },
      ],
      isMain: true,
      unit: "accessesPerByte",
      head: "ACC/B",
      title: "accesses per byte",
      meaning: "accesses divided by bytes allocated",
      explainedBy: "accesses",
      figures: ["accesses", "allocated"],
      needs: HEAP,
      combine: { of: "accesses", by: "bytes" },
      beside: ["bytes", "blocks", "lifetime"],
    },
    {
      id: "lifetime",
      isMain: true,
      unit: "clock",
      title: "mean lifetime",
      meaning: "mean lifetime of a block, in units of the heap's clock",
      figures: ["lives", "allocated"],
      combine: { of: "lifetimes", by: "blocks" },
      differs: clocksDiffer,
      beside: ["bytes", "blocks", "density"],
    },
    {
      id: "temporary",
      isMain: true,
      unit: "blocks",
      title: "temporary blocks",
      meaning: "blocks freed before two further allocations were made (by a real clock: within one unit)",
      explainedBy: "churn",
      figures: ["lives"],
      partOf: "blocks",
      sample: { type: "temporary_objects" },
      differs: clocksDiffer,
      beside: ["blocks", "bytes", "lifetime"],
      column: (heap) => ofMeasure(temporaryBlocks(heap), "blocks"),
    },
    {
      id: "copied",
      isMain: true,
      unit: "bytes",
      title: "bytes copied as blocks grew",
      meaning: "bytes that were copied as blocks grew",
      explainedBy: "growth",
      figures: ["lives"],
      partOf: "bytes",
      sample: { type: "copied_space" },
      beside: ["bytes", "blocks", "peak"],
      column: (heap) => ofAmounts(copiedBytes(heap)),
    },
    {
      id: "spare",
      isMain: true,
      unit: "bytes",
      title: "bytes after the last one used",
      meaning: "bytes of large blocks after the last byte used",
      explainedBy: "over-capacity",
      figures: ["lives"],
      partOf: "bytes",
      needs: HEAP,
      sample: { type: "spare_space" },
      beside: ["bytes", "blocks", "peak"],
      column: (heap) => ofAmounts(spareBytes(heap)),
    },
    {
      id: "unaccessed",
      aliases: [{ word: "unused", in: ["export"] }],
      unit: "bytes",
      title: "bytes never accessed",
      meaning: "bytes of blocks that were neither read nor written",
      explainedBy: "unused",
      figures: ["unused"],
      partOf: "bytes",
      needs: HEAP,
      sample: { type: "unused_space" },
      beside: ["bytes", "blocks", "density"],
      column: (heap) => ofUse(heap, neverAccessed),
    },
    {
      id: "unread",
      unit: "bytes",
      title: "bytes written and never read",
      meaning: "bytes of blocks that were written and never read",
      explainedBy: "never-read",
      figures: ["unused"],
      partOf: "bytes",
      needs: HEAP,
      sample: { type: "unread_space" },
      beside: ["bytes", "blocks", "density"],
      column: (heap) => ofUse(heap, writtenNeverRead),
    },
    {
      id: "dragged",
      aliases: ["kept"],
      unit: "bytes",
      title: "bytes kept after their last use",
      meaning: "bytes of blocks that spent most of their lives after their last access",
      explainedBy: "drag",
      figures: ["lives"],
      partOf: "bytes",
      needs: HEAP,
      sample: { type: "dragged_space" },
      beside: ["bytes", "blocks", "peak"],
      column: (heap) => ofMeasure(draggedBlocks(heap), "bytes"),
    },
    {
      id: "peak-blocks",
      unit: "blocks",
      head: "AT PEAK",
      title: "blocks live at the peak",
      meaning: "blocks that were live when the heap was largest",
      explainedBy: "peak",
      figures: ["peak"],
      partOf: "peak-blocks",
      sample: { type: "peak_objects" },
      beside: ["peak", "blocks", "lifetime"],
      column: (heap) => ofSite(heap, "peakBlocks", heap.description.totals?.peakBlocks),
    },
    {
      id: "left-blocks",
      aliases: ["live-blocks"],
      unit: "blocks",
      head: "LEFT",
      title: "blocks live at the end",
      meaning: "blocks that were live at the end, without suppressed ones",
      explainedBy: "live",
      figures: ["left"],
      partOf: "blocks",
      sample: { type: "inuse_objects" },
      beside: ["left", "blocks", "bytes"],
      column: (heap) => liveUnsuppressed(heap, "Blocks"),
    },
    {
      id: "lost-blocks",
      unit: "blocks",
      head: "LOST",
      title: "blocks lost at the end",
      meaning: "live blocks to which no pointer is left, indirectly lost ones included",
      explainedBy: "lost",
      figures: ["left", "lost"],
      unknown: whyLost,
      partOf: "blocks",
      sample: { type: "lost_objects" },
      beside: ["lost", "left-blocks", "blocks"],
      column: (heap) => lost(heap, "blocks"),
    },
    {
      id: "lifetimes",
      unit: "clock",
      title: "total lifetime of all blocks",
      meaning: "sum of the lifetimes of all blocks, in units of the heap's clock",
      explainedBy: "lifetime",
      figures: ["lives", "allocated"],
      partOf: "lifetimes",
      sample: { type: "lifetimes" },
      differs: clocksDiffer,
      beside: ["blocks", "lifetime", "bytes"],
      column: (heap) => ofBlocks(heap, "totalLifetime"),
    },
    {
      id: "mean-size",
      unit: "bytes",
      title: "mean size",
      meaning: "mean size of a block",
      explainedBy: "block",
      figures: ["allocated"],
      combine: { of: "bytes", by: "blocks" },
      beside: ["bytes", "blocks", "density"],
    },
    {
      id: "read-bytes",
      aliases: [{ word: "read", in: ["export"] }],
      unit: "bytes",
      head: "READ",
      title: "bytes read from blocks",
      meaning: "bytes read from blocks",
      explainedBy: "accesses",
      figures: ["accesses"],
      partOf: "read-bytes",
      needs: "a profile of a tool that counts them, such as DHAT",
      sample: { type: "read_bytes" },
      beside: ["bytes", "blocks", "written-bytes"],
      column: ({ contexts }) => ofAmounts(contexts.site?.readBytes),
    },
    {
      id: "written-bytes",
      aliases: [{ word: "written", in: ["export"] }],
      unit: "bytes",
      head: "WRITTEN",
      title: "bytes written to blocks",
      meaning: "bytes written to blocks",
      explainedBy: "accesses",
      figures: ["accesses"],
      partOf: "written-bytes",
      needs: "a profile of a tool that counts them, such as DHAT",
      sample: { type: "written_bytes" },
      beside: ["bytes", "blocks", "read-bytes"],
      column: ({ contexts }) => ofAmounts(contexts.site?.writtenBytes),
    },
  ]),
};
