import { CommanderError } from "commander";
import { FormatError, UserError } from "../bytes/errors.ts";
import { say } from "../runtime/host/terminal-line.ts";
import { createProgram } from "./program.ts";

/** Exit codes of memshade's own failures; otherwise the exit code is the program's. */
const USER_MISTAKE = 2;
const DEFECT = 70;

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

/** Prints what went wrong, in one line unless it is a defect, and returns the exit code. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    say(oneLine(error.message.replace(/^error: /, "")));
    return USER_MISTAKE;
  }
  if (error instanceof UserError || error instanceof FormatError) {
    say(oneLine(error.message));
    return USER_MISTAKE;
  }
  say(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
  return DEFECT;
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}
