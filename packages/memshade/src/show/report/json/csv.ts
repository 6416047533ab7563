import { printable } from "../../../profile/model/printable.ts";

/** A cell of a CSV table, in one line. */
export function csvCell(text: string): string {
  const clean = printable(text);
  // A cell that begins like a formula would be taken for one by spreadsheets.
  const safe = /^[=+\-@]/.test(clean) ? `'${clean}` : clean;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
