import type { CfiCounts, CfiDictionary } from "../cfi/reader.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";
import type { CompactTable } from "./compact-table.ts";
import { CompactTableBuilder } from "./compact-table-builder.ts";
import { cfiBytes, readFdes } from "./read-rows.ts";
import type { ReducedRules } from "./reduce.ts";

/** Reads all FDEs of an object straight into a table. */
export function readTable(
  cfi: ObjectCfi,
  dictionary: CfiDictionary,
  reduced: ReducedRules,
): { table: CompactTable; counts: CfiCounts; rowCount: number } {
  const builder = new CompactTableBuilder(dictionary.rules, reduced, cfiBytes(cfi));
  const counts = readFdes(cfi, dictionary, builder);
  return { table: builder.build(), counts, rowCount: builder.rowCount };
}
