import { GLOSSARY, type GlossaryEntry } from "../src/report/glossary.ts";

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
  return `# Glossary

The words of the reports; \`memshade explain WORD\` prints the same. (Made of \`packages/memshade/src/report/glossary.ts\` by
\`node packages/memshade/scripts/write-glossary.ts\`.)

## Findings

${section(GLOSSARY.filter(({ advice }) => advice !== undefined))}

## Other words

${section(GLOSSARY.filter(({ advice }) => advice === undefined))}
`;
}
