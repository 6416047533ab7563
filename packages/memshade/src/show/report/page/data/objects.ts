import { granuleAccesses } from "../../../../explain/analyses/granule-accesses.ts";
import { groupContexts } from "../../../../explain/analyses/groups.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type {
  WasteField,
  WasteFile,
  WasteObjects,
  WasteType,
} from "../../../../profile/model/waste/waste.ts";
import type { PageBuilder } from "./page-builder.ts";
import type { PageCells, PageObject } from "./page-data.ts";

/** The page's contexts of what the waste tool recorded, row by row. */
export interface WasteContexts {
  readonly stores: Int32Array;
  readonly loads: Int32Array;
  readonly blocks: Int32Array;
  readonly objects: Int32Array;
  readonly reallocations: Int32Array;
}

/** Sites whose blocks are shown cell by cell, those with most bytes first. */
const MOST_OBJECTS = 256;
/** Cells of a block: the last one stands for what is behind it. */
const MOST_CELLS = 1024;

/** What happened inside blocks, before contexts are merged: these are numbers of the builder. */
export interface BuiltObject extends Omit<PageObject, "contexts"> {
  readonly contexts: readonly number[];
}

/** Blocks by site: as the waste tool saw them, else as the heap's did. */
export function builtObjects(
  builder: PageBuilder,
  heap: { readonly profile: HeapProfile; readonly contexts: Int32Array } | undefined,
  waste: { readonly file: WasteFile; readonly contexts: WasteContexts } | undefined,
): BuiltObject[] {
  const ofWaste = (waste?.file.objects ?? []).map((site, row) =>
    wasteObject(builder, site, row, waste!.contexts),
  );
  const siteOf = ({ contexts }: BuiltObject): number => {
    const site = builder.siteOf(contexts[0]!);
    return site < 0 ? -1 : builder.frameOf(site);
  };
  const told = new Set(ofWaste.map(siteOf));
  const ofHeap = heap === undefined ? [] : heapObjects(builder, heap.profile, heap.contexts, waste);
  return [...ofWaste, ...ofHeap.filter((object) => siteOf(object) < 0 || !told.has(siteOf(object)))]
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, MOST_OBJECTS);
}

function wasteObject(
  builder: PageBuilder,
  site: WasteObjects,
  row: number,
  contexts: WasteContexts,
): BuiltObject {
  const { objects: blocks, bytes, size, varies, type, fields, tail } = site;
  const shown = fields.slice(0, MOST_CELLS);
  const column = (of: (field: WasteField) => number) => Float64Array.from(shown, of);
  const text = (value: string | undefined) => (value === undefined ? -1 : builder.strings.of(value));
  const storesOf = (accesses: NonNullable<WasteObjects["deadBy"]>) =>
    accesses.map((by) => ({ context: contexts.stores[by.store]!, bytes: by.bytes }));
  return {
    tool: "waste",
    contexts: [contexts.objects[row]!],
    blocks,
    bytes,
    size,
    varies,
    ...(type === undefined ? {} : { type }),
    ...(type === undefined || type.size >= size ? {} : { period: type.size }),
    cells: {
      length: shown.length,
      offset: column(({ offset }) => offset),
      size: column((field) => field.size),
      name: Int32Array.from(shown, ({ name }) => text(name)),
      type: Int32Array.from(shown, (field) => text(field.type)),
      reads: column(({ reads }) => reads),
      writes: column(({ writes }) => writes),
      dead: column(({ dead }) => dead),
      silent: column(({ silent }) => silent),
    },
    ...(tail === true || shown.length < fields.length ? { tail: true } : {}),
    deadBy: storesOf(site.deadBy ?? []),
    ...(site.writtenBy === undefined ? {} : { writtenBy: storesOf(site.writtenBy) }),
    ...(site.readBy === undefined
      ? {}
      : { readBy: site.readBy.map((by) => ({ context: contexts.loads[by.load]!, bytes: by.bytes })) }),
  };
}

function heapObjects(
  builder: PageBuilder,
  profile: HeapProfile,
  contexts: Int32Array,
  waste: { readonly file: WasteFile; readonly contexts: WasteContexts } | undefined,
): BuiltObject[] {
  const { mibs } = profile.contexts;
  if (!mibs.histogram.some((counts) => counts !== undefined && counts.length > 0)) return [];
  const types = new Map<number, WasteType>();
  waste?.file.blocks?.forEach(({ type }, row) => {
    const site = builder.siteOf(waste.contexts.blocks[row]!);
    if (type !== undefined && site >= 0) types.set(builder.frameOf(site), type);
  });
  const sites = groupContexts(profile, "site").contexts.map((all) => {
    const rows = all.filter((row) => (mibs.histogram[row]?.length ?? 0) > 0);
    return { rows, bytes: rows.reduce((sum, row) => sum + Number(mibs.totalSize[row]), 0) };
  });
  return sites
    .filter(({ rows }) => rows.length > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, MOST_OBJECTS)
    .map(({ rows, bytes }): BuiltObject => {
      const size = Math.max(...rows.map((row) => mibs.maxSize[row]!));
      const smallest = Math.min(...rows.map((row) => mibs.minSize[row]!));
      const { counts, granuleBytes } = granuleAccesses(profile, rows);
      const site = builder.siteOf(contexts[rows[0]!]!);
      const type = site < 0 ? undefined : types.get(builder.frameOf(site));
      return {
        tool: "heap",
        contexts: [...new Set(rows.map((row) => contexts[row]!))],
        blocks: rows.reduce((sum, row) => sum + mibs.allocCount[row]!, 0),
        bytes,
        size,
        varies: size !== smallest,
        ...(type === undefined ? {} : { type }),
        cells: granuleCells(counts, granuleBytes),
        ...(counts.length > MOST_CELLS ? { tail: true } : {}),
        deadBy: [],
      };
    });
}

function granuleCells(counts: Float64Array, granuleBytes: number): PageCells {
  const length = Math.min(counts.length, MOST_CELLS);
  const accesses = counts.slice(0, length);
  for (const count of counts.subarray(length)) accesses[length - 1]! += count;
  return {
    length,
    offset: Float64Array.from({ length }, (_, index) => index * granuleBytes),
    size: new Float64Array(length).fill(granuleBytes),
    name: new Int32Array(length).fill(-1),
    type: new Int32Array(length).fill(-1),
    accesses,
  };
}
