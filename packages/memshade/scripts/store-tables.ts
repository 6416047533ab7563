import { STORE_TABLES, type StoreColumn } from "../src/profile/formats/parquet-store.ts";

const START = "<!-- tables -->\n";
const END = "<!-- end -->";
/** Longer runs of columns of an earlier table are shown by their first and last. */
const MOST_KNOWN = 4;

/** A page about stores with all tables between their marks: docs/fleet.md. */
export function withStoreTables(page: string): string {
  const [before, rest] = page.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the page has no ${START.trim()} and ${END}`);
  const firstMeanings = new Map<string, string>();
  const tables = STORE_TABLES.map(
    ({ name, meaning, columns }) => `**${name}**: ${meaning}. ${columnsInWords(columns, firstMeanings)}.`,
  );
  return `${before}${START}\n${tables.join("\n\n")}\n\n${END}${after}`;
}

/** Lists columns with their meanings, except where an earlier table has the column with the same meaning. */
function columnsInWords(columns: readonly StoreColumn[], firstMeanings: Map<string, string>): string {
  const parts: { meaning: string; names: string[] }[] = [];
  for (const { name, meaning } of columns) {
    const isKnown = firstMeanings.get(name) === meaning;
    if (!firstMeanings.has(name)) firstMeanings.set(name, meaning);
    const shown = isKnown ? "" : meaning.replace(/^MemProf's .*/, "MemProf's field");
    const last = parts.at(-1);
    if (last?.meaning === shown) last.names.push(name);
    else parts.push({ meaning: shown, names: [name] });
  }
  return parts
    .map(({ meaning, names }) => {
      const shownNames = names.map((name) => `\`${name}\``);
      if (meaning !== "") return `${shownNames.join(", ")}: ${meaning}`;
      return names.length > MOST_KNOWN ? `${shownNames[0]} … ${shownNames.at(-1)}` : shownNames.join(", ");
    })
    .join("; ");
}
