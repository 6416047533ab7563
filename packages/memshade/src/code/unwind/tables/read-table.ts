import type { CfiCounts, CfiDictionary } from "../cfi/reader.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";
import type { CompactTable } from "./compact-table.ts";
import { CompactTableBuilder } from "./compact-table-builder.ts";
import { cfiBytes, readFdes } from "./read-rows.ts";
import type { ReducedRules } from "./reduce.ts";

/** Gaps between functions that are shorter are alignment as a rule, in which nothing stops. */
export const LONGEST_PADDING = 16;

/** Reads all FDEs of an object straight into a table, in which gaps of `shortestGap` bytes and more have no rule. */
export function readTable(
  cfi: ObjectCfi,
  dictionary: CfiDictionary,
  reduced: ReducedRules,
  shortestGap: number,
): { table: CompactTable; counts: CfiCounts; rowCount: number } {
  const builder = new CompactTableBuilder(dictionary.rules, reduced, cfiBytes(cfi), shortestGap);
  const counts = readFdes(cfi, dictionary, builder);
  return { table: builder.build(), counts, rowCount: builder.rowCount };
}
