import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { glossaryEntry, nearestWords } from "../../show/report/glossary.ts";
import type { GlossaryEntry } from "../../show/report/glossary-entry.ts";
import { GLOSSARY } from "../../show/report/glossary-words.ts";
import { wrapWords } from "../../show/report/terminal/common/text.ts";
import { print } from "../line-input.ts";

const COLUMNS = 80;
const INDENT = "  ";
const PAGES = "docs/";

const EXAMPLES = `
Examples:
  memshade explain              all words
  memshade explain churn
  memshade explain "own code"`;

export function addExplainCommand(program: Command): void {
  program
    .command("explain")
    .summary("explain a word of the reports")
    .description("Explains a word of the reports, and what to try against a finding (docs/glossary.md).")
    .argument("[word...]", "a kind of finding, or another word (default: lists all words)")
    .addHelpText("after", EXAMPLES)
    .action((words: readonly string[]) => {
      print(words.length === 0 ? listWords() : explain(words.join(" ")));
    });
}

function listWords(): string {
  const words = wrapWords(GLOSSARY.map(({ word }) => word.replaceAll(" ", "\u00a0")).join(", "), COLUMNS);
  return `${words.join("\n").replaceAll("\u00a0", " ")}\n`;
}

function explain(word: string): string {
  const entry = glossaryEntry(word);
  if (entry !== undefined) return entryText(entry);
  const near = nearestWords(word);
  const perhaps = near.length === 0 ? "" : `: perhaps ${near.join(", ")}`;
  throw new UserError(`"${word}" is not in the glossary${perhaps}; memshade explain lists all words`);
}

function entryText({ word, also, text, advice, more }: GlossaryEntry): string {
  const lines = [
    also === undefined ? word : `${word} (${also.join(", ")})`,
    ...wrapped(text),
    ...(advice === undefined ? [] : wrapped(`→ ${advice}`)),
    ...(more === undefined ? [] : [`${INDENT}more in ${PAGES}${more}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function wrapped(text: string): string[] {
  return wrapWords(text, COLUMNS - INDENT.length).map((line) => INDENT + line);
}
