import type { CfiCounts, CfiDictionary } from "../cfi/reader.ts";
import { CfiRows } from "../cfi/rows.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";
import type { CompactTable } from "./compact-table.ts";
import { CompactTableBuilder, compactTableOf } from "./compact-table-builder.ts";
import { cfiBytes, expectedRows, readFdes } from "./read-rows.ts";
import type { ReducedRules } from "./reduce.ts";

/** Reads all FDEs of an object straight into a table. */
export function readTable(
  cfi: ObjectCfi,
  dictionary: CfiDictionary,
  reduced: ReducedRules,
): { table: CompactTable; counts: CfiCounts; rowCount: number } {
  const size = cfiBytes(cfi);
  const builder = new CompactTableBuilder(reduced, expectedRows(size));
  const counts = readFdes(cfi, dictionary, builder);
  const table = builder.build();
  if (table !== undefined) return { table, counts, rowCount: builder.rowCount };
  // FDEs overlap: two sections describe the same code, or the file is damaged. Then all rows are needed at once.
  const rows = new CfiRows(size);
  const again = readFdes(cfi, dictionary, rows);
  return { table: compactTableOf(rows, reduced), counts: again, rowCount: rows.count };
}
