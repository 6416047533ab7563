import { callersAreEstimated, ESTIMATED_CALLERS, siteShares } from "../analyses/objects/shares.ts";
import type { ModuleObjects, ObjectsProfile } from "../model/objects/objects.ts";
import type { SampleFrame } from "../model/sample-profile.ts";
import type { StackFrame } from "../model/working-set/working-set.ts";
import { type ExportedSamples, exportedSamples, type Weight, wholeAmounts } from "./exported.ts";

const OBJECTS = { type: "objects", counted: "objects" } as const;

/** What stacks of objects have, in the order of files: what readers look at first comes last. */
export const OBJECT_WEIGHTS = {
  inUse: {
    key: "in-use",
    type: "inuse_space",
    unit: "bytes",
    says: "bytes of objects in use at the end, an estimate by objects that were followed",
    with: { verb: "In use", ...OBJECTS },
  },
  objects: { key: "objects", type: "alloc_objects", unit: "count", says: "objects that were made" },
  bytes: {
    key: "object-bytes",
    type: "alloc_space",
    unit: "bytes",
    says: "bytes of objects that were made, by a model of their sizes",
    with: { verb: "Allocated", ...OBJECTS },
  },
} as const satisfies Record<string, Weight>;

interface Row {
  readonly stack: SampleFrame[];
  readonly bytes: number;
  readonly objects: number;
  readonly live: number;
}

/** Who makes objects. */
export function objectSamples(profile: ObjectsProfile): ExportedSamples {
  const { modules, parts, program, sizes } = profile;
  const rows = parts.flatMap(rowsOf);
  const column = (of: (row: Row) => number) => wholeAmounts(rows.map(of));
  const isSampled = parts.some(({ samples }) => samples.site.length > 0);
  const ends = modules.map((_, index) =>
    Math.max(
      0,
      ...parts
        .filter(({ module }) => module === index)
        .flatMap(({ sites }) => sites.map(({ offset }) => offset + 1)),
    ),
  );
  return exportedSamples({
    name: `objects of ${program}`,
    modules: modules.map(({ name, buildId }, index) => ({ name, buildId, start: 0, end: ends[index]! })),
    stacks: rows.map(({ stack }) => stack),
    columns: [
      { weight: OBJECT_WEIGHTS.inUse, values: isSampled ? column(({ live }) => live) : undefined },
      { weight: OBJECT_WEIGHTS.objects, values: column(({ objects }) => objects) },
      { weight: OBJECT_WEIGHTS.bytes, values: column(({ bytes }) => bytes) },
    ],
    shown: ["object-bytes"],
    notes: [
      `Sizes are those of a model of ${sizes.engine} with references of ${sizes.references} bytes.`,
      ...(isSampled ? ["What is in use is an estimate by a sample of the objects."] : []),
      ...(callersAreEstimated(profile) ? [ESTIMATED_CALLERS] : []),
      ...profile.notTracked,
    ],
  });
}

function rowsOf(part: ModuleObjects): Row[] {
  return siteShares(part).map(({ frames, bytes, objects, live }) => ({
    ...{ bytes, objects, live },
    stack: frames.map((frame) => frameOf(frame, part.module)),
  }));
}

function frameOf(
  { function: index, offset, name, file, line, library }: StackFrame,
  module: number,
): SampleFrame {
  return { function: name ?? `func[${index}]`, file, line, library, address: offset, module };
}
