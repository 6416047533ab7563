import { CommanderError } from "commander";
import { say } from "../record/host/run/terminal-line.ts";
import { explainFailure, joinLines, USER_MISTAKE } from "./failures.ts";
import { createProgram, unknownCommand } from "./program.ts";

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
  const [, verb] = /^error: unknown command '([^']+)'(?!.*Did you mean)/s.exec(error.message) ?? [];
  if (verb !== undefined) {
    say(unknownCommand(verb));
    return USER_MISTAKE;
  }
  const [, unknown] = /^error: unknown option '(--[a-z-]+)/.exec(error.message) ?? [];
  const hint = unknown === undefined ? undefined : INSTEAD[unknown];
  say(joinLines(error.message.replace(/^error: /, "")) + (hint === undefined ? "" : `: ${hint}`));
  return USER_MISTAKE;
}

/** Hints for options that no longer exist. */
const INSTEAD: Readonly<Record<string, string>> = {
  "--pgo": "use --learn FILE",
  "--no-pgo": "leave it out; only --learn FILE uses earlier runs",
  "--first-touch": "use --who",
  "--owners": "use --who",
  "--fill": "use --who",
  "--locality": "it takes no value; --locality-rate 1 follows all lines",
  "--locality-size": "use --locality-rate",
  "--cache": "the report has the miss ratios of all sizes",
};
