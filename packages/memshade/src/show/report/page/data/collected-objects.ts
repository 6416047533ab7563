import { typeName } from "../../../../explain/analyses/objects/names.ts";
import { type SiteShare, siteShares } from "../../../../explain/analyses/objects/shares.ts";
import { unreadFields } from "../../../../explain/analyses/objects/unread.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import type { ObjectsProfile, ObjectType } from "../../../../profile/model/objects/objects.ts";
import { placeFields } from "../../../../profile/model/objects/place-fields.ts";
import type { BuiltObject } from "./objects.ts";
import type { PageBuilder } from "./page-builder.ts";

/** Types whose fields are shown, those with most bytes first. */
const MOST_TYPES = 256;

/** The page's contexts of each context of a module's objects, with the part of it that each has. */
export type PageRowsOfContexts = ReadonlyMap<
  number,
  readonly { readonly row: number; readonly part: number }[]
>;

/** The page's contexts of garbage-collected objects. */
export interface PageObjects {
  /** By part: the page's contexts of what was made in each context, and which part of it. */
  readonly rows: readonly PageRowsOfContexts[];
  /** Types with their fields, as what happened inside of blocks. */
  readonly objects: readonly BuiltObject[];
  readonly contextsOf: (finding: Finding) => readonly number[];
}

/** What `objects.json` has of types and fields. `contexts`: the page's context of each row of the objects' stacks. */
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
    const ofType = byType.get(site.type) ?? [];
    byType.set(site.type, ofType);
    ofType.push(row);
    const ofContext = rows.get(context) ?? [];
    rows.set(context, ofContext);
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
