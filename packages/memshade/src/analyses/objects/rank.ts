import type { ObjectsProfile } from "../../model/objects/objects.ts";
import { OBJECT_METRICS, objectPlaces } from "../call-tree/object-stacks.ts";
import type { StackFrame } from "../call-tree/weighted-stacks.ts";
import type { GroupBy } from "../groups.ts";

/** What places that make objects are ranked by. */
export const OBJECT_KEYS = ["object-bytes", "objects", "in-use"] as const;
export type ObjectKey = (typeof OBJECT_KEYS)[number];

/** What one place makes; figures are bytes, objects and bytes in use, the last an estimate. */
export interface RankedObjects {
  readonly frame: StackFrame | undefined;
  /** Of call paths. */
  readonly callers: readonly StackFrame[];
  /** Name of the type of the objects; undefined for functions, which make several. */
  readonly type: string | undefined;
  readonly values: Readonly<Record<ObjectKey, number>>;
}

/**
 * The program's own places at which objects are made. `group`: places are lines (or instructions without one) and a type of objects, these
 * with the calls that led there, or functions.
 */
export function rankObjects(
  profile: ObjectsProfile,
  by: ObjectKey,
  order: "largest" | "smallest",
  group: GroupBy,
): RankedObjects[] {
  const sums = new Map<string, RankedObjects & { readonly values: Record<ObjectKey, number> }>();
  for (const { path, type, values } of objectPlaces(profile)) {
    const [frame, ...callers] = path;
    const key = JSON.stringify(
      group === "function"
        ? [frame?.function, frame?.module]
        : [type, ...(group === "path" ? path : path.slice(0, 1)).map(placeKey)],
    );
    const sum = sums.get(key) ?? {
      frame: group === "function" ? withoutLine(frame) : frame,
      callers: group === "path" ? callers : [],
      type: group === "function" ? undefined : type,
      values: { "object-bytes": 0, objects: 0, "in-use": 0 },
    };
    sums.set(key, sum);
    OBJECT_KEYS.forEach((of) => {
      sum.values[of] += values[OBJECT_METRICS.findIndex((metric) => metric.key === of)]!;
    });
  }
  const sign = order === "largest" ? 1 : -1;
  return [...sums.values()]
    .filter(({ values }) => values[by] > 0)
    .sort((a, b) => sign * (b.values[by] - a.values[by]) || nameOf(a).localeCompare(nameOf(b)));
}

function placeKey({ function: name, module, file, line, address }: StackFrame): unknown[] {
  return [name, module, file, line, line === undefined ? address : undefined];
}

function withoutLine(frame: StackFrame | undefined): StackFrame | undefined {
  return frame && { function: frame.function, module: frame.module, library: frame.library };
}

function nameOf({ frame, type }: RankedObjects): string {
  return `${frame?.function} ${frame?.line} ${type}`;
}
