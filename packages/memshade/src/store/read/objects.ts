import { objectPlaces } from "../../analyses/call-tree/object-stacks.ts";
import type { PlaceFrame } from "../../analyses/findings/finding.ts";
import { placeOfType } from "../../analyses/findings/objects.ts";
import { typeName } from "../../analyses/objects/names.ts";
import { wholeSurvival } from "../../analyses/objects/survival.ts";
import { objectTotals } from "../../analyses/objects/totals.ts";
import { unreadByType } from "../../analyses/objects/unread.ts";
import type { ObjectsProfile } from "../../model/objects/objects.ts";
import type { StoredFrame, StoredLayout, StoredObjects, StoredRun } from "../stored-run.ts";
import { sourceFrame } from "./source-frame.ts";

/** Garbage-collected objects by the program's own places and by types, and the types with the fields that nobody reads. */
export function objectsOf(profile: ObjectsProfile): {
  readonly rows: readonly StoredObjects[];
  readonly layouts: readonly StoredLayout[];
  readonly totals: StoredRun["totals"];
} {
  const isSampled = profile.sampleBytes > 0;
  const sums = new Map<string, { place: StoredFrame; type: string; values: number[] }>();
  for (const { path, type, values } of objectPlaces(profile)) {
    const place = frameOf(path[0]);
    const key = JSON.stringify([place.name, place.file, place.line, place.place?.offset, type]);
    const sum = sums.get(key) ?? { place, type, values: values.map(() => 0) };
    sums.set(key, sum);
    values.forEach((value, index) => {
      sum.values[index]! += value;
    });
  }
  const { objects, bytes } = objectTotals(profile);
  const inUse = profile.parts.reduce((sum, part) => sum + (wholeSurvival(part)?.bytes ?? 0), 0);
  return {
    rows: [...sums.values()].map(({ place, type, values: [size, count, live] }) => ({
      ...{ place, type, objects: Math.round(count!), bytes: Math.round(size!) },
      ...(isSampled ? { inUse: Math.round(live!) } : {}),
    })),
    layouts: layoutsOf(profile),
    totals: { objects, objectBytes: bytes, ...(isSampled ? { objectsInUse: Math.round(inUse) } : {}) },
  };
}

/** Structs by where most of each type are made. */
function layoutsOf(profile: ObjectsProfile): StoredLayout[] {
  return unreadByType(profile).flatMap(({ part, type, fields }): StoredLayout[] => {
    const [own] = placeOfType(part, type.index)?.path ?? [];
    if (own === undefined) return [];
    const { objects, bytes } = type;
    return [
      { place: frameOf(own), type: typeName(type), element: Math.round(bytes / objects), bytes, fields },
    ];
  });
}

function frameOf(frame: PlaceFrame | undefined): StoredFrame {
  return sourceFrame(frame ?? {}, (frame?.address ?? 0) % 2 ** 32, frame?.module);
}
