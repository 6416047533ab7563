import { objectTotals, typeName, unreadByType, wholeSurvival } from "../../explain/analyses/objects.ts";
import type { PlaceFrame } from "../../explain/findings/finding-kind.ts";
import { placeOfType } from "../../explain/findings/unread-objects.ts";
import { measure, stacksOf } from "../../explain/measures/index.ts";
import { placePath } from "../../explain/measures/measured-stacks.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { functionGuid } from "../../profile/formats/memprof/index.ts";
import type { ObjectsProfile } from "../../profile/model/objects.ts";
import type { WasteFrame } from "../../profile/model/waste.ts";
import type { StoredFrame, StoredLayout, StoredObjects, StoredRun } from "../stored-run.ts";

/** Returns garbage-collected objects by allocation site and type, and the types with their unread fields. */
export function objectsOf(profile: ObjectsProfile): {
  readonly rows: readonly StoredObjects[];
  readonly layouts: readonly StoredLayout[];
  readonly totals: StoredRun["totals"];
} {
  const isSampled = profile.sampleBytes > 0;
  const sums = new Map<string, { place: StoredFrame; type: string; values: number[] }>();
  const stacks = stacksOf("objects", { objects: profile })!;
  const columns = ["object-bytes", "objects", "objects-in-use"].map((id) =>
    measure(id).column({ objects: profile }),
  );
  for (let row = 0; row < stacks.rows.length; row++) {
    const place = frameOf(placePath(stacks, row)[0]);
    const type = stacks.labels![row]!;
    const values = columns.map((column) => Number(column?.amounts[row] ?? 0));
    const key = JSON.stringify([place.name, place.file, place.line, place.place?.offset, type]);
    const sum = entryOf(sums, key, () => ({ place, type, values: values.map(() => 0) }));
    values.forEach((value, index) => {
      sum.values[index]! += value;
    });
  }
  const { objects, bytes } = objectTotals(profile);
  const inUse = profile.parts.reduce((sum, part) => sum + (wholeSurvival(part)?.bytes ?? 0), 0);
  return {
    rows: [...sums.values()].map(({ place, type, values: [size, count, live] }) => ({
      place,
      type,
      objects: Math.round(count!),
      bytes: Math.round(size!),
      ...(isSampled ? { inUse: Math.round(live!) } : {}),
    })),
    layouts: layoutsOf(profile),
    totals: { objects, objectBytes: bytes, ...(isSampled ? { objectsInUse: Math.round(inUse) } : {}) },
  };
}

/** Returns structs, each with the site that makes most of its type. */
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

/**
 * Returns the frame of a tool without GUIDs.
 *
 * @param offset of its code, for frames without a line
 */
export function sourceFrame(
  { function: name = "a call from outside", file, line = 0, startLine = 0 }: WasteFrame,
  offset: number,
  module = "",
): StoredFrame {
  const isPlaced = line !== 0;
  return {
    guid: functionGuid(name),
    lineOffset: isPlaced ? Math.max(0, line - startLine) : offset,
    column: 0,
    inline: false,
    name,
    file,
    line,
    ...(isPlaced ? {} : { place: { buildId: module, offset } }),
  };
}
