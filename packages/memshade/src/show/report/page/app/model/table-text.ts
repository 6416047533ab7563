// Copies a table as text for other programs. Cells are raw numbers, so that a spreadsheet can sum them.

export type Cell = string | number;

/** Formats tab-separated values. A cell that a spreadsheet would evaluate as a formula gets a quote. */
export function asTsv(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const write = (cell: Cell) => {
    if (typeof cell === "number") return String(cell);
    const text = cell.replaceAll(/[\t\r\n]+/g, " ");
    return /^[=+\-@]/.test(text) ? `'${text}` : text;
  };
  return [heads, ...rows].map((cells) => `${cells.map(write).join("\t")}\n`).join("");
}

/** Formats a Markdown table, numbers right-aligned. */
export function asMarkdown(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const write = (cell: Cell) =>
    String(cell)
      .replaceAll(/\s+/g, " ")
      .replaceAll(/[\\|<>`*_[\]]/g, "\\$&");
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const isNumber = (column: number) => rows.length > 0 && typeof rows[0][column] === "number";
  return [
    line(heads.map(write)),
    line(heads.map((_, column) => (isNumber(column) ? "--:" : "---"))),
    ...rows.map((cells) => line(cells.map(write))),
  ].join("");
}
