import { CommanderError } from "commander";
import { say } from "../host/run/terminal-line.ts";
import { explainFailure, oneLine, USER_MISTAKE } from "./failures.ts";
import { createProgram } from "./program.ts";

export async function main(): Promise<void> {
  try {
    const program = await createProgram(process.argv.slice(2));
    if (process.argv.length <= 2) {
      program.outputHelp({ error: true });
      process.exitCode = USER_MISTAKE;
    } else {
      await program.parseAsync(process.argv);
    }
  } catch (error) {
    process.exitCode = explain(error);
  }
}

function explain(error: unknown): number {
  if (!(error instanceof CommanderError)) return explainFailure(error);
  if (error.exitCode === 0) return 0;
  say(oneLine(error.message.replace(/^error: /, "")));
  return USER_MISTAKE;
}
