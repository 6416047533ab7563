import { printable } from "../../../profile/model/printable.ts";

/** Formats a cell of a CSV table, in one line. */
export function csvCell(text: string): string {
  const clean = printable(text);
  // Spreadsheets would evaluate a cell that begins like a formula.
  const safe = /^[=+\-@]/.test(clean) ? `'${clean}` : clean;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
