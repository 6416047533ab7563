import type { UnreadFieldFinding, UnreadObjectsFinding } from "../../../analyses/findings/finding.ts";
import { ownDepth } from "../../../analyses/frames/own-place.ts";
import { typeName } from "../../../analyses/objects/names.ts";
import { ESTIMATED_CALLERS, siteShares } from "../../../analyses/objects/shares.ts";
import { unreadFields } from "../../../analyses/objects/unread.ts";
import type { ModuleObjects, ObjectsProfile, ObjectType } from "../../../model/objects/objects.ts";
import { placeFields } from "../../../model/objects/place-fields.ts";
import type { StackFrame } from "../../../model/working-set/working-set.ts";
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
  readonly contextsOf: (finding: UnreadFieldFinding | UnreadObjectsFinding) => readonly number[];
}

/** Gives a page what `objects.json` has of frames, contexts and weights. */
export function addCollected(builder: PageBuilder, profile: ObjectsProfile): PageObjects {
  const added = profile.parts.map((part) => addPart(builder, profile, part));
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
    contextsOf: (finding) =>
      byName.get(
        finding.kind === "unread-objects" ? finding.type : (finding.place.path[0]!.function ?? ""),
      ) ?? [],
  };
}

function addPart(
  builder: PageBuilder,
  profile: ObjectsProfile,
  part: ModuleObjects,
): { byType: Map<number, number[]>; rows: PageRowsOfContexts } {
  const named = profile.modules[part.module];
  const module = named?.index ?? -1;
  if (named !== undefined && !builder.hasModule(module)) builder.module(module, { name: named.name });
  const shares = siteShares(part);
  const contexts = shares.map(({ frames }) => contextOf(builder, module, frames));
  const kind = { tool: "objects", word: "object" } as const;
  const callers = shares.some((share) => share.part < 1) ? ESTIMATED_CALLERS : undefined;
  const caution = ["Sizes are those of a model.", ...(callers === undefined ? [] : [callers])].join(" ");
  builder.addWeight(
    { id: "objectBytes", label: "bytes of objects", unit: "bytes", ...kind, caution },
    contexts,
    shares.map(({ bytes }) => bytes),
  );
  builder.addWeight(
    { id: "objectsMade", label: "objects", unit: "count", ...kind, caution: callers },
    contexts,
    shares.map(({ objects }) => objects),
  );
  builder.addWeight(
    {
      ...{
        id: "objectsInUse",
        label: "bytes of objects in use",
        unit: "bytes",
        tool: "objects",
        word: "in use",
      },
      caution: part.samples.settled
        ? "Estimated by the objects that were followed, after the engine had collected all garbage."
        : "Estimated by the objects that were followed. Not all garbage had been collected: it is this at most.",
    },
    contexts,
    shares.map(({ live }) => live),
  );
  const byType = new Map<number, number[]>();
  shares.forEach(({ site }, index) => {
    const known = byType.get(site.type);
    if (known === undefined) byType.set(site.type, [contexts[index]!]);
    else known.push(contexts[index]!);
  });
  const rows = new Map<number, { row: number; part: number }[]>();
  shares.forEach(({ context, part: share }, index) => {
    const known = rows.get(context) ?? [];
    rows.set(context, known);
    known.push({ row: contexts[index]!, part: share });
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
    ...{ blocks: objects, bytes, size, varies: kind === "array" && elements > 0 },
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

function contextOf(builder: PageBuilder, module: number, stack: readonly StackFrame[]): number {
  const frames: readonly StackFrame[] = stack.length === 0 ? [{ function: -1, name: "[no code]" }] : stack;
  const context = builder.path(
    frames.map(({ function: index, offset, name = `func[${index}]`, file, line, library }) =>
      builder.frame({ function: name, module, address: offset, file, line, library }),
    ),
  );
  const depth = ownDepth(frames.map(({ library }) => library));
  let site = context;
  for (let left = depth; left > 0; left--) site = builder.callerOf(site);
  if (context >= 0 && depth >= 0) builder.setSite(context, site);
  return context;
}
