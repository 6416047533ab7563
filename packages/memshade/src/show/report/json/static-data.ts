import type { StaticObject, StaticsReport } from "../../../explain/analyses/statics.ts";

/** Returns static data as a part of the heap's report (docs/report-json.md). */
export function staticDataJson(statics: StaticsReport, rows: number | undefined): object {
  const { bytes, untouchedBytes, unreadBytes, accesses, elsewhere, atLeast, objects } = statics;
  const shown = objects.slice(0, rows);
  return {
    bytes,
    untouchedBytes,
    unreadBytes,
    accesses,
    ...(atLeast ? { accessesAtLeast: true } : {}),
    elsewhere,
    objects: shown.map(staticObjectJson),
    objectsOmitted: objects.length - shown.length,
  };
}

/** Returns a piece of static data with all known properties. */
export function staticObjectJson({
  file,
  line,
  linkageName,
  address,
  members,
  isBrought: _,
  ...object
}: StaticObject): object {
  return {
    ...object,
    ...(linkageName === undefined ? {} : { linkageName }),
    ...(file === undefined ? {} : { file }),
    ...(line === 0 ? {} : { line }),
    address: `0x${address.toString(16)}`,
  };
}
