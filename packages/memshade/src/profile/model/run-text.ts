import { UserError } from "../../ground/bytes/errors.ts";
import type { Run } from "./run.ts";

/**
 * Rows of a table by their members: a value per row, or the rows that have the member with their values there, which may
 * be columns again. A table of thousands of rows takes a tenth of the text.
 */
interface Columns {
  [member: string]: unknown[] | { rows: number[]; values: unknown[] | Columns };
}

type Row = Record<string, unknown>;

/** Returns the text of `run.json`. */
export function runText(run: Run): string {
  const { heap } = run;
  if (heap === undefined) return `${JSON.stringify(run, null, 2)}\n`;
  const text = JSON.stringify({ ...run, heap: { ...heap, sites: [] } }, null, 2);
  const columns = Object.entries(columnsOf(heap.sites as unknown as Row[]));
  const lines = columns.map(
    ([member, values]) => `      ${JSON.stringify(member)}: ${JSON.stringify(values)}`,
  );
  // No text of the run has this, since a line feed in it is escaped.
  return `${text.replace('\n    "sites": []', () => `\n    "sites": {\n${lines.join(",\n")}\n    }`)}\n`;
}

function columnsOf(rows: readonly Row[]): Columns {
  const members = new Set<string>();
  for (const row of rows) for (const member in row) members.add(member);
  const columns: Columns = {};
  for (const member of members) {
    const having: number[] = [];
    const values: unknown[] = [];
    for (const [index, row] of rows.entries()) {
      if (row[member] === undefined) continue;
      having.push(index);
      values.push(row[member]);
    }
    const isTable = typeof values[0] === "object";
    if (values.length === rows.length && !isTable) columns[member] = values;
    else if (values.length > 0)
      columns[member] = { rows: having, values: isTable ? columnsOf(values as Row[]) : values };
  }
  return columns;
}

/** Returns a parsed `run.json` with rows in the place of its columns. Earlier versions have rows. */
export function withRows(parsed: unknown): unknown {
  const { heap } = parsed as { heap?: { sites?: unknown } | null };
  const sites = heap?.sites;
  if (typeof sites !== "object" || sites === null || Array.isArray(sites)) return parsed;
  return { ...(parsed as Row), heap: { ...heap, sites: rowsOf(sites as Row, "heap.sites") } };
}

function rowsOf(columns: Row, place: string, length = lengthOf(columns)): Row[] {
  const rows = Array.from({ length }, (): Row => ({}));
  for (const [member, column] of Object.entries(columns)) {
    const at = `${place}.${member}`;
    if (Array.isArray(column)) {
      if (column.length !== length)
        throw new UserError(`${at} should have ${length} values, but has ${column.length}`);
      for (let index = 0; index < length; index++) rows[index]![member] = column[index];
      continue;
    }
    const { rows: having, values: given } = (column ?? {}) as { rows?: unknown; values?: unknown };
    if (!Array.isArray(having) || typeof given !== "object" || given === null)
      throw new UserError(`${at} should be a list, or rows with values`);
    const values = Array.isArray(given) ? given : rowsOf(given as Row, `${at}.values`, having.length);
    if (values.length !== having.length)
      throw new UserError(`${at} should have ${having.length} values, but has ${values.length}`);
    for (const [index, row] of having.entries()) {
      if (typeof row !== "number" || rows[row] === undefined)
        throw new UserError(`${at}.rows[${index}] should be a row`);
      rows[row]![member] = values[index];
    }
  }
  return rows;
}

function lengthOf(columns: Row): number {
  const full = Object.values(columns).find(Array.isArray);
  return full === undefined ? 0 : full.length;
}
