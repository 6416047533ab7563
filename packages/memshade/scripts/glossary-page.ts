import { MEASURES } from "../src/explain/measures/index.ts";
import type { Measure } from "../src/explain/measures/measure.ts";
import type { GlossaryEntry } from "../src/show/report/glossary-entry.ts";
import { GLOSSARY } from "../src/show/report/glossary-words.ts";

const UNITS: Partial<Record<Measure["unit"], string>> = {
  accessesPerByte: "accesses a byte",
  clock: "units of the clock",
  part: "per cent",
};

/** The glossary as a page: docs/glossary.md. */
export function glossaryPage(): string {
  const section = (entries: readonly GlossaryEntry[]): string =>
    entries
      .map(({ word, also, text, advice, more }) =>
        [
          `**${word}**${also === undefined ? "" : ` (${also.join(", ")})`}: ${text}`,
          ...(advice === undefined ? [] : [`*What to try:* ${advice}`]),
          ...(more === undefined ? [] : [`[More](${more})`]),
        ].join(" "),
      )
      .join("\n\n");
  const ids = new Set(MEASURES.map(({ id }) => id));
  return `# Glossary

The words of the reports; \`memshade explain WORD\` prints the same. (Generated from
\`packages/memshade/src/show/report/glossary-words.ts\` by \`node packages/memshade/scripts/write-glossary.ts\`.)

## Findings

${section(GLOSSARY.filter(({ advice }) => advice !== undefined))}

## Other words

${section(GLOSSARY.filter(({ word, advice }) => advice === undefined && !ids.has(word)))}

## Measures

The words of \`--by\` and of limits, and the runs that have them. An older word that only some commands accept has their
names in brackets. Every view has the measures that add up over places; the other measures are in \`top\`, \`check\` and the
commands in brackets. Files of [other viewers](exporting.md) have the name of the column "in files".

| word | also | unit | adds up | what it is | in files | needs |
| --- | --- | --- | --- | --- | --- | --- |
${MEASURES.map(rowOf).join("\n")}
`;
}

function rowOf(measure: Measure): string {
  const views = new Map<string, readonly string[]>();
  for (const alias of measure.aliases ?? [])
    if (typeof alias === "string") views.set(alias, []);
    else views.set(alias.word, [...(views.get(alias.word) ?? []), ...alias.in]);
  const also = [...views].map(
    ([word, among]) => `\`${word}\`${among.length === 0 ? "" : ` (${among.join(", ")})`}`,
  );
  const cells = [
    `\`${measure.id}\``,
    also.join(", "),
    UNITS[measure.unit] ?? measure.unit,
    measure.combine === "sum" ? "yes" : "",
    measure.meaning,
    measure.combine === "sum" ? `\`${measure.sample?.type ?? measure.id.replaceAll("-", "_")}\`` : "",
    measure.needs,
  ];
  return `| ${cells.join(" | ")} |`;
}
