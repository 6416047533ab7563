import { type Check, count, integer, list, oneOf, optional, parseVersioned, record, text } from "../check.ts";
import {
  STATICS_SCHEMA,
  STATICS_VERSION,
  type StaticRun,
  type StaticSegment,
  type StaticSymbol,
  type StaticsFile,
  type StaticsOfModule,
} from "./statics.ts";

const cells: Check<number[]> = list(integer);

const file = record<StaticsFile>({
  schema: oneOf(STATICS_SCHEMA),
  version: oneOf(STATICS_VERSION),
  counters: oneOf("merged", "exact"),
  spreadBytes: count,
  modules: list(
    record<StaticsOfModule>({
      module: count,
      start: count,
      end: count,
      segments: list(
        record<StaticSegment>({ index: count, name: optional(text), start: count, bytes: count }),
      ),
      symbols: list(
        record<StaticSymbol>({
          name: text,
          linkageName: optional(text),
          address: count,
          bytes: optional(count),
        }),
      ),
      uncounted: list(count),
      wrapsAt: optional(count),
      initialization: count,
      cellBytes: count,
      runs: list(record<StaticRun>({ address: count, cells })),
    }),
  ),
});

/**
 * What the text of a `statics.json` says.
 *
 * @throws UserError saying what is wrong in one line, without the file's name
 */
export function readStatics(json: string): StaticsFile {
  return file(
    parseVersioned(json, STATICS_SCHEMA, STATICS_VERSION, "does not tell of the static data of a run"),
  );
}
