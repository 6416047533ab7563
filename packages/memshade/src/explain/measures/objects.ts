import type { ModuleObjects, ObjectsProfile } from "../../profile/model/objects.ts";
import {
  callersAreEstimated,
  ESTIMATED_CALLERS,
  type SiteShare,
  siteShares,
  typeName,
  typesByIndex,
  unreadFields,
  unreadTypes,
} from "../analyses/objects.ts";
import { type MeasuredProfiles, measuresOf, once, type ToolMeasures } from "./measure.ts";
import { type Column, type MeasuredStacks, RowCollector } from "./measured-stacks.ts";
import { frameOf } from "./working-set.ts";

const OBJECTS = "a run of a module with garbage-collected objects, recorded with --tool objects";

const sharesOf = once(({ parts }: ObjectsProfile) =>
  parts.flatMap((part) => siteShares(part).map((share) => ({ part, share }))),
);

const objectStacks = once((profile: ObjectsProfile): MeasuredStacks => {
  const { modules, parts, program, sizes } = profile;
  const collector = new RowCollector();
  const typesOf = once(typesByIndex);
  const labels: string[] = [];
  for (const { part, share } of sharesOf(profile)) {
    collector.add(share.frames.map((frame) => frameOf(profile, part.module, frame, parts.length > 1)));
    labels.push(typeName(typesOf(part).get(share.site.type)!));
  }
  return {
    tool: "objects",
    name: `objects of ${program}`,
    modules: modules.map(({ index, name, buildId }) => ({ index, name, buildId })),
    ...collector.finish(),
    labels,
    gaps: callersAreEstimated(profile) ? [ESTIMATED_CALLERS] : [],
    notes: [
      `Sizes are those of a model of ${sizes.engine} with references of ${sizes.references} bytes.`,
      ...(profile.sampleBytes > 0 ? ["What is in use is an estimate by a sample of the objects."] : []),
    ],
  };
});

function ofShares(
  profile: ObjectsProfile,
  amountOf: (share: SiteShare, part: ModuleObjects) => number,
  whole?: number,
): Column {
  const amounts = sharesOf(profile).map(({ part, share }) => amountOf(share, part));
  if (whole === undefined) return { amounts };
  const rest = whole - amounts.reduce((sum, amount) => sum + amount, 0);
  // Shares are fractions of whole numbers.
  return { amounts, rest: Math.round(rest) };
}

function ofTypes({ parts }: ObjectsProfile, figure: "bytes" | "objects"): number {
  return parts.reduce((sum, { types }) => sum + types.reduce((total, type) => total + type[figure], 0), 0);
}

/** Returns the bytes of fields and elements that were never read in any object, by the place that creates it. */
function unreadOfPlaces(profile: ObjectsProfile): Column | undefined {
  if (!profile.fields) return undefined;
  const ofType = new Map(profile.parts.map((part) => [part, new Map<number, number>()]));
  let whole = 0;
  const add = (part: ModuleObjects, type: number, bytes: number): void => {
    const sums = ofType.get(part)!;
    sums.set(type, (sums.get(type) ?? 0) + bytes);
    whole += bytes;
  };
  for (const { part, type } of unreadTypes(profile)) {
    const each = type.fields.reduce((sum, { bytes }) => sum + bytes, 0);
    add(part, type.index, each * (type.kind === "array" ? type.elements : type.objects));
  }
  for (const { part, types, each } of unreadFields(profile))
    for (const { index, objects } of types) add(part, index, each * objects);
  const typesOf = once(typesByIndex);
  return ofShares(
    profile,
    ({ site, bytes, objects }, part) => {
      const type = typesOf(part).get(site.type)!;
      const share = type.kind === "array" ? bytes / (type.bytes || 1) : objects / (type.objects || 1);
      return share * (ofType.get(part)!.get(site.type) ?? 0);
    },
    whole,
  );
}

function sizesDiffer(older: MeasuredProfiles, newer: MeasuredProfiles): string | undefined {
  const sizes = ({ objects }: MeasuredProfiles) => JSON.stringify(objects?.sizes);
  return sizes(older) === sizes(newer) ? undefined : "the sizes of the two runs come from different models";
}

function remarkOfBytes(profiles: MeasuredProfiles): string {
  return ["Sizes are those of a model.", ...[remarkOfCallers(profiles) ?? []].flat()].join(" ");
}

function remarkOfCallers({ objects }: MeasuredProfiles): string | undefined {
  return objects !== undefined && callersAreEstimated(objects) ? ESTIMATED_CALLERS : undefined;
}

function remarkOfUse({ objects }: MeasuredProfiles): string {
  return objects?.parts.every(({ samples }) => samples.site.length === 0 || samples.settled) === true
    ? "Estimated by the objects that were followed, after the engine had collected all garbage."
    : "Estimated by the objects that were followed. Not all garbage had been collected: it is this at most.";
}

const COUNTED = { count: "objects", counted: "objects" } as const;

export const OBJECT_MEASURES: ToolMeasures = {
  tool: "objects",
  name: "objects",
  whole: "garbage-collected objects",
  recordedWith: "objects",
  first: ["object-bytes"],
  stacks: ({ objects }) => objects && objectStacks(objects),
  gaps: ({ objects }) => objects?.notTracked ?? [],
  measures: measuresOf("objects", { needs: OBJECTS }, [
    {
      id: "object-bytes",
      isMain: true,
      unit: "bytes",
      head: "BYTES",
      title: "bytes of objects allocated (modelled sizes)",
      meaning: "bytes of all garbage-collected objects allocated, by a model of their sizes",
      explainedBy: "object",
      figures: ["objects"],
      partOf: "object-bytes",
      sample: { type: "alloc_space", done: { verb: "Allocated", ...COUNTED } },
      differs: sizesDiffer,
      remark: remarkOfBytes,
      beside: ["objects", "objects-in-use"],
      column: (profile) => ofShares(profile, ({ bytes }) => bytes, ofTypes(profile, "bytes")),
    },
    {
      id: "objects",
      isMain: true,
      unit: "objects",
      title: "objects allocated",
      meaning: "garbage-collected objects allocated",
      explainedBy: "object",
      figures: ["objects"],
      partOf: "objects",
      sample: { type: "alloc_objects" },
      remark: remarkOfCallers,
      beside: ["object-bytes", "objects-in-use"],
      column: (profile) => ofShares(profile, ({ objects }) => objects, ofTypes(profile, "objects")),
    },
    {
      id: "objects-in-use",
      aliases: ["in-use"],
      isMain: true,
      unit: "bytes",
      head: "IN USE",
      title: "bytes of objects in use at the end (an estimate)",
      meaning: "bytes of objects in use at the end, estimated from sampled objects",
      explainedBy: "in use",
      figures: ["in-use"],
      partOf: "object-bytes",
      needs: `${OBJECTS} and without --sample-bytes 0`,
      isEstimate: true,
      remark: remarkOfUse,
      sample: { type: "inuse_space", done: { verb: "In use", ...COUNTED } },
      differs: sizesDiffer,
      beside: ["object-bytes", "objects"],
      column: (profile) => (profile.sampleBytes === 0 ? undefined : ofShares(profile, ({ live }) => live)),
    },
    {
      id: "unread-fields",
      unit: "bytes",
      head: "UNREAD",
      title: "bytes of fields never read",
      meaning: "bytes of fields and elements that are never read in any object",
      explainedBy: "unread-field",
      figures: ["objects"],
      partOf: "object-bytes",
      needs: `${OBJECTS} and without --no-fields`,
      sample: { type: "unread_space", done: { verb: "Made and not read", ...COUNTED } },
      differs: sizesDiffer,
      beside: ["object-bytes", "objects"],
      column: unreadOfPlaces,
    },
  ]),
};
