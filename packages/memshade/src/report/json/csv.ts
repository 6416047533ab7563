/** A cell of a CSV table. */
export function csvCell(text: string): string {
  // A cell that begins like a formula would be taken for one by spreadsheets.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
