import { rankStatics, type StaticKey } from "../../analyses/statics/rank-statics.ts";
import type { StaticObject, StaticsReport } from "../../analyses/statics/static-objects.ts";
import { jsonText } from "./text.ts";
import { TOP_SCHEMA, TOP_VERSION } from "./top.ts";

/** Static data as part of the heap's report: docs/report-json.md. */
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
    objects: shown.map(objectJson),
    objectsOmitted: objects.length - shown.length,
  };
}

export interface StaticTopOptions {
  readonly input: string;
  readonly by: StaticKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
}

/** A ranking of static data as JSON. */
export function staticTopJson(statics: StaticsReport, { input, by, order, rows }: StaticTopOptions): string {
  const { ranked, total } = rankStatics(statics, by, order);
  const shown = ranked.slice(0, rows);
  return jsonText({
    schema: TOP_SCHEMA,
    version: TOP_VERSION,
    input,
    by,
    unit: by === "static" ? "accesses" : "bytes",
    order,
    total,
    ...(by === "static" && statics.atLeast ? { atLeast: true } : {}),
    rows: shown.map(({ object, value }) => ({
      value,
      part: total > 0 ? value / total : null,
      ...objectJson(object),
    })),
    rowsOmitted: ranked.length - shown.length,
  });
}

function objectJson({
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
