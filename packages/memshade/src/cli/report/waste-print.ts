import { statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { readInput } from "../../names/load/file.ts";
import { readDeadstores } from "../../profile/formats/deadstores.ts";
import { printDeadstores } from "../../show/report/terminal/waste.ts";
import { print } from "../line-input.ts";

const WASTE_FILE = "waste.json";
const USUAL_ROWS = 5;

const EXAMPLES = `
Examples:
  memshade waste-print memshade.out/app.4711
  memshade waste-print -n 20 memshade.out/app.4711/waste.json
  memshade waste-print deadstores.out.4711

The output is the one of the printer that comes with the Valgrind tool
deadstores, whose files it reads as well.`;

/** Adds `memshade waste-print` to the program. Its action throws UserError for mistakes of the user. */
export function addWastePrintCommand(program: Command): void {
  program
    .command("waste-print")
    .summary("print dead stores, silent stores and silent loads as deadstores does")
    .description(
      "Prints the worst dead stores, silent stores and silent loads in the way of the tool deadstores.",
    )
    .argument(
      "<file>",
      "waste.json or the directory of a run, or a file written by the Valgrind tool deadstores",
    )
    .option("-n <N>", "entries per section", parseEntries, USUAL_ROWS)
    .addHelpText("after", EXAMPLES)
    .action((input: string, options: { n: number }) => {
      print(runWastePrint(input, options.n));
    });
}

/** The text that `memshade waste-print` prints. */
export function runWastePrint(input: string, rows: number): string {
  const content = textOf(input);
  try {
    return printDeadstores(readDeadstores(content), rows);
  } catch (error) {
    throw error instanceof UserError ? new UserError(`${input}: ${error.message}`) : error;
  }
}

function textOf(input: string): string {
  const isRun = statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  const path = isRun ? join(input, WASTE_FILE) : input;
  try {
    return readInput(path).toString();
  } catch (error) {
    throw new UserError(`${path} cannot be read: ${describeSystemError(error)}`);
  }
}

function parseEntries(text: string): number {
  const rows = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(rows))
    throw new UserError(`-n takes a number of entries, not "${text}"`);
  return rows;
}
