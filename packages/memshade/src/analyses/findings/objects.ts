import type { ModuleObjects, ObjectsProfile } from "../../model/objects/objects.ts";
import { MODULE_SPAN } from "../../model/waste/waste.ts";
import { fromOwn } from "../frames/own-place.ts";
import { typeName } from "../objects/names.ts";
import { busiestPaths } from "../objects/shares.ts";
import { objectTotals } from "../objects/totals.ts";
import { unreadFields, unreadTypes } from "../objects/unread.ts";
import type { UnreadFieldFinding, UnreadObjectsFinding } from "./finding.ts";
import { LEAST_BYTES } from "./heap-blocks.ts";

/** Fields and objects that nobody reads, as parts of all bytes that were allocated. */
export function objectFindings(profile: ObjectsProfile): (UnreadFieldFinding | UnreadObjectsFinding)[] {
  const { bytes: all } = objectTotals(profile);
  const ofProgram = unreadFields(profile).filter(({ isOfLanguage }) => !isOfLanguage);
  const fields = ofProgram.map(
    ({ name, each, bytes, objects, written }): UnreadFieldFinding => ({
      ...{ kind: "unread-field", tool: "objects", amount: bytes, unit: "bytes", part: bytes / all },
      place: { path: [{ function: name }] },
      objects,
      each,
      written,
    }),
  );
  const types = unreadTypes(profile).flatMap(({ part, type }): UnreadObjectsFinding[] => {
    const place = placeOfType(part, type.index);
    if (place === undefined) return [];
    const { bytes, objects } = type;
    return [
      {
        ...{ kind: "unread-objects", tool: "objects", amount: bytes, unit: "bytes", part: bytes / all },
        ...{ place, objects, type: typeName(type) },
      },
    ];
  });
  return [...fields, ...types].filter(({ amount }) => amount >= LEAST_BYTES);
}

/** Where most objects of a type are made; undefined where no code makes them. */
export function placeOfType(part: ModuleObjects, type: number): UnreadObjectsFinding["place"] | undefined {
  const { module, sites } = part;
  let site = -1;
  sites.forEach((one, index) => {
    if (one.type === type && (site < 0 || one.bytes > sites[site]!.bytes)) site = index;
  });
  const stack = busiestPaths(part).get(site);
  if (stack === undefined) return undefined;
  const path = fromOwn(stack).stack.map(({ name, file, line, offset }) => ({
    ...(name === undefined ? {} : { function: name }),
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(offset === undefined ? {} : { address: module * MODULE_SPAN + offset }),
  }));
  return path.length === 0 ? undefined : { path };
}
