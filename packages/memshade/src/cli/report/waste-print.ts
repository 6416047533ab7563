import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { readInput } from "../../names/load/file.ts";
import { readDeadstores } from "../../profile/formats/deadstores.ts";
import { isMemprofRaw } from "../../profile/formats/memprof-raw/index.ts";
import { OBJECTS_SCHEMA } from "../../profile/model/objects.ts";
import { RUN_FILE } from "../../profile/model/run.ts";
import { WASTE_SCHEMA } from "../../profile/model/waste.ts";
import { WORKING_SET_SCHEMA } from "../../profile/model/working-set/working-set.ts";
import { kindOfContent } from "../../runs/other-heaps.ts";
import { runOf } from "../../runs/run-of-folder.ts";
import { printDeadstores } from "../../show/report/terminal/waste.ts";
import { print } from "../line-input.ts";

const WASTE_FILE = "waste.json";
const USUAL_ROWS = 5;
const CONTENTS = "dead stores, silent stores or silent loads";

const EXAMPLES = `
Examples:
  memshade waste-print memshade.out/app.4711
  memshade waste-print -n 20 memshade.out/app.4711/waste.json
  memshade waste-print deadstores.out.4711

The output is that of the printer of the Valgrind tool deadstores. Files of that
tool can be read too.`;

export function addWastePrintCommand(program: Command): void {
  program
    .command("waste-print")
    .summary("print dead stores, silent stores and silent loads as the tool deadstores does")
    .description(
      "Prints the largest dead stores, silent stores and silent loads in the format of the Valgrind tool deadstores.",
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

export function runWastePrint(input: string, rows: number): string {
  const bytes = bytesOf(input);
  try {
    return printDeadstores(readDeadstores(bytes.toString()), rows);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const kind = otherKind(bytes);
    throw new UserError(
      kind === undefined ? `${input}: ${error.message}` : `${input} has no ${CONTENTS}: ${kind}`,
    );
  }
}

/** Recordings of other tools, by the schema of their files. */
const RECORDINGS: ReadonlyMap<string, string> = new Map([
  [WORKING_SET_SCHEMA, "a working-set recording"],
  [OBJECTS_SCHEMA, "a recording of objects"],
]);
const SCHEMA = /^\s*\{\s*"schema"\s*:\s*"(memshade-[a-z-]+)"/;
const START_BYTES = 256;

/** Returns what a file is that has no waste, as a clause; undefined for a file of waste, which may be damaged. */
function otherKind(bytes: Buffer): string | undefined {
  const start = bytes.toString("latin1", 0, START_BYTES);
  const schema = SCHEMA.exec(start)?.[1];
  const recording = isMemprofRaw(bytes) ? "a heap recording" : RECORDINGS.get(schema ?? "");
  if (recording !== undefined) return `it is ${recording}, which memshade report reads`;
  const mayBeWaste = schema === undefined ? /^\s*(?:\{|$)/.test(start) : schema === WASTE_SCHEMA;
  return mayBeWaste ? undefined : kindOfContent(bytes);
}

/** Returns the file to print; for a run, its waste file. */
function fileOf(input: string): string {
  const isFolder = statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder && ![RUN_FILE, WASTE_FILE].includes(basename(input))) return input;
  const folder = isFolder ? input : dirname(input);
  const file = join(folder, WASTE_FILE);
  const run = existsSync(file) ? undefined : runOf(folder);
  if (run === undefined) return file;
  throw new UserError(
    run.files.waste === undefined
      ? `${input} has no ${CONTENTS}: record the program with --tool waste`
      : `${input} is incomplete: ${WASTE_FILE} is missing`,
  );
}

function bytesOf(input: string): Buffer {
  const path = fileOf(input);
  try {
    return readInput(path);
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
