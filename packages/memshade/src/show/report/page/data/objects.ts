import { granuleAccesses } from "../../../../explain/analyses/granule-accesses.ts";
import { groupContexts } from "../../../../explain/analyses/groups.ts";
import { type SiteShare, siteShares, typeName, unreadFields } from "../../../../explain/analyses/objects.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import { type ObjectsProfile, type ObjectType, placeFields } from "../../../../profile/model/objects.ts";
import type { WasteField, WasteFile, WasteObjects, WasteType } from "../../../../profile/model/waste.ts";
import type { PageBuilder } from "./page-builder.ts";
import type { PageCells, PageObject } from "./page-data.ts";

/** Page contexts of the waste tool's records, row by row. */
export interface WasteContexts {
  readonly stores: Int32Array;
  readonly loads: Int32Array;
  readonly blocks: Int32Array;
  readonly objects: Int32Array;
  readonly reallocations: Int32Array;
}

/** Most sites whose blocks are shown by cell; those with most bytes come first. */
const MOST_OBJECTS = 256;
/** Most cells of a block; the last one includes everything after it. */
const MOST_CELLS = 1024;

/** Accesses inside blocks before contexts are merged: `contexts` are numbers of the builder. */
export interface BuiltObject extends Omit<PageObject, "contexts"> {
  readonly contexts: readonly number[];
}

/** Returns blocks by site, from the waste tool's record or else from the heap's. */
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
  const wasteSites = new Set(ofWaste.map(siteOf));
  const ofHeap = heap === undefined ? [] : heapObjects(builder, heap.profile, heap.contexts, waste);
  return [...ofWaste, ...ofHeap.filter((object) => siteOf(object) < 0 || !wasteSites.has(siteOf(object)))]
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
  const column = (readField: (field: WasteField) => number) => Float64Array.from(shown, readField);
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

/** Most types whose fields are shown; those with most bytes come first. */
const MOST_TYPES = 256;

/** Page contexts of each context of a module's objects, each with its part of the amount. */
export type PageRowsOfContexts = ReadonlyMap<
  number,
  readonly { readonly row: number; readonly part: number }[]
>;

/** Page contexts of garbage-collected objects. */
export interface PageObjects {
  /** Per part: the page contexts of each allocating context, each with its part of the amount. */
  readonly rows: readonly PageRowsOfContexts[];
  /** Types with their fields, in the form of accesses inside blocks. */
  readonly objects: readonly BuiltObject[];
  readonly contextsOf: (finding: Finding) => readonly number[];
}

/**
 * Converts types and fields of `objects.json`. `contexts`: the page context of each row of the objects'
 * stacks.
 */
export function collectedObjects(
  builder: PageBuilder,
  profile: ObjectsProfile,
  contexts: Int32Array,
): PageObjects {
  let first = 0;
  const added = profile.parts.map((part) => {
    const shares = siteShares(part);
    const own = contexts.subarray(first, first + shares.length);
    first += shares.length;
    return partOf(shares, own);
  });
  const ofTypes = added.map(({ byType }) => byType);
  const byName = new Map<string, number[]>();
  profile.parts.forEach((part, index) => {
    for (const type of part.types) byName.set(typeName(type), ofTypes[index]!.get(type.index) ?? []);
  });
  for (const { part, name, types } of unreadFields(profile)) {
    const contexts = ofTypes[profile.parts.indexOf(part)]!;
    byName.set(
      name,
      types.flatMap(({ index }) => contexts.get(index) ?? []),
    );
  }
  const objects = profile.parts.flatMap((part, index) =>
    part.types.flatMap((type): BuiltObject[] => {
      const contexts = ofTypes[index]!.get(type.index) ?? [];
      return profile.fields && contexts.length > 0 ? [builtType(builder, profile, type, contexts)] : [];
    }),
  );
  return {
    rows: added.map(({ rows }) => rows),
    objects: objects.sort((a, b) => b.bytes - a.bytes).slice(0, MOST_TYPES),
    contextsOf(finding) {
      const type = "type" in finding ? finding.type : finding.place.path[0]!.function;
      return (typeof type === "string" && byName.get(type)) || [];
    },
  };
}

function partOf(
  shares: readonly SiteShare[],
  contexts: Int32Array,
): { byType: Map<number, number[]>; rows: PageRowsOfContexts } {
  const byType = new Map<number, number[]>();
  const rows = new Map<number, { row: number; part: number }[]>();
  shares.forEach(({ site, context, part }, index) => {
    const row = contexts[index]!;
    const ofType = entryOf(byType, site.type, () => []);
    ofType.push(row);
    const ofContext = entryOf(rows, context, () => []);
    ofContext.push({ row, part });
  });
  return { byType, rows };
}

function builtType(
  builder: PageBuilder,
  { sizes, fields: areCounted }: ObjectsProfile,
  type: ObjectType,
  contexts: readonly number[],
): BuiltObject {
  const { kind, objects, elements, bytes } = type;
  const header = kind === "array" ? sizes.arrayHeader : sizes.structHeader;
  const { offsets } = placeFields(
    type.fields.map((field) => field.bytes),
    sizes.references,
  );
  const fields = type.fields
    .map((field, index) => ({ ...field, index, offset: header + offsets[index]! }))
    .sort((a, b) => a.offset - b.offset);
  const size = Math.round(bytes / Math.max(1, objects));
  const text = (value: string | undefined) => (value === undefined ? -1 : builder.strings.of(value));
  return {
    tool: "objects",
    contexts: [...new Set(contexts)],
    blocks: objects,
    bytes,
    size,
    varies: kind === "array" && elements > 0,
    type: { name: typeName(type), size, by: "wasm" },
    cells: {
      length: fields.length,
      offset: Float64Array.from(fields, ({ offset }) => offset),
      size: Float64Array.from(fields, (field) => field.bytes),
      name: Int32Array.from(fields, ({ name, index }) =>
        text(name || (kind === "array" ? "[elements]" : `field ${index}`)),
      ),
      type: Int32Array.from(fields, (field) => text(field.type)),
      ...(areCounted
        ? {
            reads: Float64Array.from(fields, ({ reads }) => reads),
            writes: Float64Array.from(fields, ({ writes }) => writes),
          }
        : {}),
    },
    deadBy: [],
  };
}
