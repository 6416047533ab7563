import { STORE_TABLES } from "../src/profile/formats/parquet-store.ts";

const START = "<!-- tables -->\n";
const END = "<!-- end -->";

/** A page about stores with all tables between their marks: docs/fleet.md. */
export function withStoreTables(page: string): string {
  const [before, rest] = page.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the page has no ${START.trim()} and ${END}`);
  const tables = STORE_TABLES.map(
    ({ name, meaning, columns }) =>
      `**${name}**: ${meaning}. ${columns.map((column) => `\`${column.name}\` ${column.meaning}`).join("; ")}.`,
  );
  return `${before}${START}\n${tables.join("\n\n")}\n\n${END}${after}`;
}
