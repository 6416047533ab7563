import type { ObjectsProfile } from "../../model/objects/objects.ts";
import { objectPlaces } from "../call-tree/object-stacks.ts";
import type { RecordedTools } from "../findings/run-findings.ts";
import { unreadFields, unreadTypes } from "../objects/unread.ts";
import { added, type Measure } from "./measure.ts";
import { splitAtOwn } from "./measured-place.ts";

const OBJECTS = "a run of a module with garbage-collected objects, recorded with --tool objects";

/** A measure by the places at which objects are made: the column of their values. */
function byPlace(column: number): Measure["measure"] {
  return ({ objects }, chosen) => {
    if (objects === undefined || (column === 2 && objects.sampleBytes === 0)) return undefined;
    const places = objectPlaces(objects).map(({ path, values }) => ({
      place: splitAtOwn(path),
      amount: Math.round(values[column]!),
    }));
    return added(places, chosen);
  };
}

function unreadBytes(profile: ObjectsProfile): number {
  const ofTypes = unreadTypes(profile).reduce(
    (sum, { type }) =>
      sum +
      (type.kind === "array"
        ? type.elements * type.fields[0]!.bytes
        : type.objects * type.fields.reduce((all, { bytes }) => all + bytes, 0)),
    0,
  );
  return unreadFields(profile).reduce((sum, { bytes }) => sum + bytes, ofTypes);
}

function sizesDiffer(older: RecordedTools, newer: RecordedTools): string | undefined {
  const sizes = ({ objects }: RecordedTools) => JSON.stringify(objects?.sizes);
  return sizes(older) === sizes(newer) ? undefined : "the sizes of the two runs come from different models";
}

export const OBJECT_MEASURES: readonly Measure[] = [
  {
    word: "object-bytes",
    tool: "objects",
    unit: "bytes",
    what: "bytes of all garbage-collected objects that were made, by a model of their sizes",
    partOf: "object-bytes",
    needs: OBJECTS,
    differs: sizesDiffer,
    measure: byPlace(0),
  },
  {
    word: "objects",
    tool: "objects",
    unit: "blocks",
    what: "garbage-collected objects that were made",
    partOf: "objects",
    needs: OBJECTS,
    measure: byPlace(1),
  },
  {
    word: "objects-in-use",
    tool: "objects",
    unit: "bytes",
    what: "bytes of objects in use at the end: an estimate by objects that were followed",
    partOf: "object-bytes",
    needs: `${OBJECTS} and without --sample-bytes 0`,
    differs: sizesDiffer,
    measure: byPlace(2),
  },
  {
    word: "unread-fields",
    tool: "objects",
    unit: "bytes",
    what: "bytes of fields and elements that nobody read in any object",
    partOf: "object-bytes",
    needs: `${OBJECTS} and without --no-fields`,
    differs: sizesDiffer,
    measure: ({ objects }, chosen) =>
      objects === undefined || !objects.fields || chosen !== undefined
        ? undefined
        : { amount: unreadBytes(objects), places: [] },
  },
];
