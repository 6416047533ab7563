import { ownDepth } from "../../../analyses/frames/own-place.ts";
import { MODULE_SPAN, type WasteFile, type WasteFrame, type WasteIp } from "../../../model/waste/waste.ts";
import type { PageBuilder, WeightKind } from "./page-builder.ts";
import { FRAME_FLAGS, type PageRatio, type PageUnit } from "./page-data.ts";

/** The page's contexts of what the waste tool recorded, row by row. */
export interface WasteContexts {
  readonly stores: Int32Array;
  readonly loads: Int32Array;
  readonly blocks: Int32Array;
  readonly objects: Int32Array;
  readonly reallocations: Int32Array;
}

/** Gives a page what `waste.json` has of frames, contexts and weights. */
export function addWaste(builder: PageBuilder, file: WasteFile): WasteContexts {
  for (const module of file.modules ?? [])
    if (!builder.hasModule(module.index)) builder.module(module.index, { name: module.name });
  const contextsOf = (rows: readonly { readonly ips: readonly WasteIp[] }[] = []) =>
    Int32Array.from(rows, ({ ips }) => contextOf(builder, ips));
  const { stores, loads, blocks = [], reallocations = [] } = file;
  const contexts: WasteContexts = {
    stores: contextsOf(stores),
    loads: contextsOf(loads),
    blocks: contextsOf(blocks),
    objects: contextsOf(file.objects),
    reallocations: contextsOf(reallocations),
  };
  const add = (
    [id, label, word, unit]: readonly [id: string, label: string, word: string, unit: PageUnit],
    rows: Int32Array,
    values: number[],
  ): void => {
    const kind: WeightKind = { id, label, word, unit, tool: "waste" };
    builder.addWeight(kind, rows, values);
  };
  const ofStores = (kind: Parameters<typeof add>[0], value: (store: (typeof stores)[number]) => number) =>
    add(kind, contexts.stores, stores.map(value));
  const ofLoads = (kind: Parameters<typeof add>[0], value: (load: (typeof loads)[number]) => number) =>
    add(kind, contexts.loads, loads.map(value));
  ofStores(["dead", "bytes overwritten unread", "dead", "bytes"], (store) => store.dead_overwritten);
  ofStores(
    ["deadEnded", "bytes unread when their block, frame or run ended", "dead", "bytes"],
    (store) => store.dead_deallocated + store.dead_exit,
  );
  ofStores(["silent", "stores of what is there", "silent", "stores"], (store) => store.nof_silent);
  ofStores(["stores", "stores", "silent", "stores"], (store) => store.nof_stores);
  ofStores(["stored", "bytes stored", "dead", "bytes"], (store) => store.bytes_written);
  ofLoads(
    ["redundant", "loads of what was loaded before", "redundant", "loads"],
    ({ nof_silent, nof_redundant = nof_silent }) => nof_redundant,
  );
  ofLoads(["loads", "loads", "redundant", "loads"], (load) => load.nof_loads);
  ofLoads(["loaded", "bytes loaded", "redundant", "bytes"], (load) => load.bytes_loaded);
  if (blocks.length > 0)
    add(
      ["unread", "bytes of blocks stored, never read", "never-read", "bytes"],
      contexts.blocks,
      blocks.map((site) => site.never_read),
    );
  if (reallocations.length > 0)
    add(
      ["moved", "bytes moved by realloc", "moved", "bytes"],
      contexts.reallocations,
      reallocations.map(({ moved }) => moved),
    );
  return contexts;
}

function contextOf(builder: PageBuilder, ips: readonly WasteIp[]): number {
  const frames: number[] = [];
  const libraries: (string | undefined)[] = [];
  for (const ip of ips) {
    const inlined = ip.inlined ?? [];
    [ip as WasteFrame, ...inlined].forEach((frame, depth) => {
      frames.push(frameOf(builder, ip, frame, depth < inlined.length));
      libraries.push(frame.library);
    });
  }
  const context = builder.path(frames);
  const depth = ownDepth(libraries);
  let site = context;
  for (let left = depth; left > 0; left--) site = builder.callerOf(site);
  if (context >= 0 && depth >= 0) builder.setSite(context, site);
  return context;
}

function frameOf(builder: PageBuilder, { address }: WasteIp, frame: WasteFrame, isInlined: boolean): number {
  const { function: name, file, line, library } = frame;
  const offset = address % MODULE_SPAN;
  return builder.frame({
    function: name ?? (file === undefined ? `0x${offset.toString(16)}` : "[no name]"),
    ...{ module: Math.floor(address / MODULE_SPAN), address: offset === 0 ? undefined : offset },
    ...{ file, line, library, flags: isInlined ? FRAME_FLAGS.inlined : 0 },
  });
}

/** Parts of what the program stores and loads. */
export const WASTE_RATIOS: readonly PageRatio[] = [
  { id: "deadShare", label: "dead part", word: "dead", unit: "part", of: "dead", by: "stored" },
  { id: "silentShare", label: "silent part", word: "silent", unit: "part", of: "silent", by: "stores" },
  {
    ...{ id: "redundantShare", label: "redundant part", word: "redundant", unit: "part" },
    ...{ of: "redundant", by: "loads" },
  },
];
