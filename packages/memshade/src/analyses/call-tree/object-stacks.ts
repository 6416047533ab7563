import type { ModuleObjects, ObjectsProfile } from "../../model/objects/objects.ts";
import type { StackFrame as RecordedFrame } from "../../model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import { typeName, typesByIndex } from "../objects/names.ts";
import { callersAreEstimated, ESTIMATED_CALLERS, siteShares } from "../objects/shares.ts";
import { StackCollector, type StackFrame, type StackMetric, type WeightedStacks } from "./weighted-stacks.ts";

/** What places of objects have. Objects and bytes are exact; what is in use is estimated. */
export const OBJECT_METRICS: readonly StackMetric[] = [
  { key: "object-bytes", title: "bytes of objects (a model of sizes)", head: "BYTES", unit: "bytes" },
  { key: "objects", title: "objects", head: "OBJECTS", unit: "count" },
  { key: "in-use", title: "bytes of objects in use (an estimate)", head: "IN USE", unit: "bytes" },
];

/** A place at which objects are made, with its callers as far as they are known. */
export interface ObjectPlace {
  /** The program's own frame first. */
  readonly path: readonly StackFrame[];
  readonly values: readonly number[];
  /** Name of the type of the objects. */
  readonly type: string;
}

/** The places at which objects are made. */
export function objectPlaces(profile: ObjectsProfile): ObjectPlace[] {
  return profile.parts.flatMap((part) => placesOf(profile, part));
}

function placesOf(profile: ObjectsProfile, part: ModuleObjects): ObjectPlace[] {
  const types = typesByIndex(part);
  return siteShares(part).map(({ site, frames, bytes, objects, live }) => ({
    path: named(profile, part, frames),
    values: [bytes, objects, live],
    type: typeName(types.get(site.type)!),
  }));
}

function named(
  { modules, parts }: ObjectsProfile,
  { module }: ModuleObjects,
  frames: readonly RecordedFrame[],
): StackFrame[] {
  return fromOwn(frames).stack.map((frame) => {
    const {
      function: index,
      name = `func[${index}]`,
      file,
      line,
      startLine,
      inlined,
      offset,
      library,
    } = frame;
    const of = parts.length < 2 || frame.name !== undefined ? undefined : modules[module]?.name;
    return { function: name, module: of, file, line, startLine, inlined, address: offset, library };
  });
}

/** The call paths to objects. */
export function objectStacks(profile: ObjectsProfile): WeightedStacks {
  const collector = new StackCollector();
  for (const { path, values } of objectPlaces(profile)) collector.addPath(path, values);
  const gaps = callersAreEstimated(profile) ? [ESTIMATED_CALLERS] : [];
  return collector.finish({ tool: "objects", metrics: OBJECT_METRICS, gaps });
}
