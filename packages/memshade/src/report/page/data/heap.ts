import { areAccessesCut } from "../../../analyses/granule-accesses.ts";
import { type HeapColumnKey, heapColumn } from "../../../analyses/heap/heap-columns.ts";
import { heapTotals } from "../../../analyses/totals.ts";
import type { HeapProfile } from "../../../model/heap-profile.ts";
import { type IndexIntoFrameTable, NONE } from "../../../model/indices.ts";
import { knowsField } from "../../../model/known-fields.ts";
import { describeFrame } from "../../frames.ts";
import type { PageBuilder, WeightKind } from "./page-builder.ts";
import { FRAME_FLAGS, type PageRatio, type PageUnit } from "./page-data.ts";

/** What stands for blocks of which no call path is known. */
const NO_PATH = { function: "[no call path]", flags: FRAME_FLAGS.notCode };

/** Gives a page what a heap profile has of frames, contexts and weights. @returns the page's context of each of the profile's */
export function addHeap(builder: PageBuilder, profile: HeapProfile): Int32Array {
  profile.modules.forEach(({ name, path, buildId, knows }, index) => {
    builder.module(index, {
      name,
      ...(path === undefined ? {} : { path }),
      ...(buildId === "" ? {} : { buildId }),
      ...(knows === undefined ? {} : { knows }),
    });
  });
  const { stacks, contexts } = profile;
  const frames = framesOf(builder, profile);
  const ofStack = new Int32Array(stacks.length);
  for (let stack = 0; stack < stacks.length; stack++) {
    const caller = stacks.prefix[stack]!;
    ofStack[stack] = builder.context(caller === NONE ? -1 : ofStack[caller]!, frames[stacks.frame[stack]!]!);
  }
  const noPath = () => builder.context(-1, builder.frame(NO_PATH));
  const contextOf = Int32Array.from(contexts.stack, (stack, row) => {
    if (stack === NONE) return noPath();
    const site = contexts.siteStack?.[row] ?? stack;
    builder.setSite(ofStack[stack]!, ofStack[site]!);
    return ofStack[stack]!;
  });
  addWeights(builder, profile, contextOf, noPath);
  return contextOf;
}

function framesOf(builder: PageBuilder, profile: HeapProfile): Int32Array {
  const { frames, functions } = profile;
  return Int32Array.from({ length: frames.length }, (_, frame) => {
    const {
      function: name,
      file,
      line,
      column,
      offset,
      inlined,
      calledByHost,
      library,
      language,
    } = describeFrame(profile, frame as IndexIntoFrameTable);
    const index = functions.module[frames.function[frame]!]!;
    const module = index === NONE ? undefined : index;
    const flags =
      (inlined ? FRAME_FLAGS.inlined : 0) |
      (calledByHost ? FRAME_FLAGS.fromHost : 0) |
      (language === undefined ? 0 : FRAME_FLAGS.script);
    return builder.frame({
      ...{ function: name, module, file, line, column, flags, library },
      // Of a call of a script it is a number alone, and 0 where only names are known.
      address: language === undefined && offset > 0 ? offset : undefined,
    });
  });
}

function addWeights(
  builder: PageBuilder,
  profile: HeapProfile,
  contextOf: Int32Array,
  noPath: () => number,
): void {
  const { description } = profile;
  const { unit: clock } = description.clock;
  const add = (
    [id, label, word, unit]: readonly [id: string, label: string, word: string, unit: PageUnit],
    key: HeapColumnKey,
    more: Partial<WeightKind> = {},
  ): void => {
    const column = heapColumn(profile, key);
    if (column === undefined) return;
    const { amounts, isLowerBound } = column;
    const caution = isLowerBound ? { caution: "There may be more of them." } : {};
    const values = Float64Array.from(amounts as ArrayLike<number | bigint>, Number);
    builder.addWeight({ id, label, word, unit, tool: "heap", ...caution, ...more }, contextOf, values);
  };
  add(["peak", "bytes at the peak", "peak", "bytes"], "peakBytes");
  add(["bytes", "bytes allocated", "block", "bytes"], "bytes");
  add(["blocks", "blocks allocated", "block", "blocks"], "blocks");
  add(["left", "bytes live at the end", "live", "bytes"], "liveBytes");
  add(["leftBlocks", "blocks live at the end", "live", "blocks"], "liveBlocks");
  add(["lost", "bytes lost at the end", "lost", "bytes"], "lostBytes");
  add(["temporary", "temporary blocks", "churn", "blocks"], "temporaryBlocks");
  const areCounted = description.counters !== "none";
  if (areCounted && knowsField(profile, "totalAccessCount")) {
    const caution = areAccessesCut(profile)
      ? { caution: "Counters may have been full: so many or more." }
      : {};
    add(["accesses", "accesses", "accesses", "accesses"], "accesses", caution);
    add(["unused", "bytes never accessed", "unused", "bytes"], "neverAccessedBytes");
    add(["neverRead", "bytes written, never read", "never-read", "bytes"], "neverReadBytes");
  }
  add(["kept", "bytes kept after their last use", "drag", "bytes"], "draggedBytes");
  add(["copied", "bytes copied as blocks grew", "growth", "bytes"], "copiedBytes");
  add(["spare", "bytes behind the last one used", "over-capacity", "bytes"], "spareBytes");
  add(["lifetime", "lifetimes, all blocks together", "lifetime", "clock"], "lifetimes", { clock });
  // What the run counted and no context has.
  const { allocations, allocatedBytes, heapAccesses, inContexts } = heapTotals(profile);
  const missing: [id: string, amount: number][] = [
    ["bytes", allocatedBytes - inContexts.bytes],
    ["blocks", allocations - inContexts.allocations],
    ...(areCounted ? [["accesses", heapAccesses - inContexts.accesses] as [string, number]] : []),
  ];
  for (const [id, amount] of missing) if (amount > 0) builder.addTo(id, [noPath()], [amount]);
}

/** Means of what a heap profile may have. */
export function heapRatios({ description: { clock } }: HeapProfile): PageRatio[] {
  const density: PageRatio = {
    ...{ id: "density", label: "accesses per byte", word: "accesses", unit: "count" },
    ...{ of: "accesses", by: "bytes" },
  };
  return [
    density,
    { id: "size", label: "mean size", word: "block", unit: "bytes", of: "bytes", by: "blocks" },
    {
      ...{ id: "life", label: "mean lifetime", word: "lifetime", unit: "clock", clock: clock.unit },
      ...{ of: "lifetime", by: "blocks" },
    },
  ];
}
