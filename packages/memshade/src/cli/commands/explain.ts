import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { glossaryEntry, nearestWords } from "../../show/report/glossary.ts";
import type { GlossaryEntry } from "../../show/report/glossary-entry.ts";
import { GLOSSARY_GROUPS } from "../../show/report/glossary-words.ts";
import { columnsOf } from "../../show/report/terminal/common/screen.ts";
import { wrapWords } from "../../show/report/terminal/common/text.ts";
import { print } from "../line-input.ts";
import { standardOutput, type Terminal } from "./report-options.ts";

const COLUMNS = 80;
const INDENT = "  ";
const PAGES = "docs/";

const EXAMPLES = `
Examples:
  memshade explain              all kinds of findings, and all words
  memshade explain churn
  memshade explain "own code"`;

export function addExplainCommand(program: Command): void {
  program
    .command("explain")
    .summary("explain a word of the reports")
    .description("Explains a word of the reports, and what to try against a finding (docs/glossary.md).")
    .argument("[word...]", "a kind of finding, or another word (default: lists all)")
    .addHelpText("after", EXAMPLES)
    .action((words: readonly string[]) => {
      print(words.length === 0 ? listWords(standardOutput()) : explain(words.join(" ")));
    });
}

/** Lists the kinds of findings, each with the first sentence of its meaning, and then the other words. */
function listWords(terminal: Terminal): string {
  const { findings, words, measures } = GLOSSARY_GROUPS;
  const width = terminal.isTerminal ? columnsOf(terminal) : Number.POSITIVE_INFINITY;
  const wordWidth = Math.max(...findings.map(({ word }) => word.length));
  const room = width - INDENT.length - wordWidth - 2;
  const kinds = findings.map(
    ({ word, text }) => `${INDENT}${word.padEnd(wordWidth)}  ${shortened(firstSentence(text), room)}`,
  );
  return `${[
    "Findings",
    ...kinds,
    "",
    "Other words",
    ...namesInLines(words),
    "",
    "Measures",
    ...namesInLines(measures),
    "",
    "memshade explain WORD explains one of them.",
  ].join("\n")}\n`;
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

/** Leaves out last words that do not fit. */
function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  return `${wrapWords(text, Math.max(1, width - 2))[0]} …`;
}

function namesInLines(entries: readonly GlossaryEntry[]): string[] {
  const names = entries.map(({ word }) => word.replaceAll(" ", "\u00a0")).join(", ");
  return wrapped(names).map((line) => line.replaceAll("\u00a0", " "));
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
