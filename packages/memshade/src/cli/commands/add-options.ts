import type { Command } from "commander";

/** An option of a command, as a row of a table. */
export interface OptionDescription {
  /** As commander reads it: short and long name, and the value behind the long one. */
  readonly flags: string;
  /** For the help; options without it are not listed there. */
  readonly description?: string;
  /** The value that a text stands for, from it and the value before. @throws UserError in one line */
  readonly parse?: (text: string, previous: never) => unknown;
  readonly initial?: unknown;
  /** Looks at the value before the command does anything, at what was not given too. @throws UserError in one line */
  readonly check?: (value: never) => void;
}

/** Tells commander of options; those without a description are not in the help. */
export function addOptions(command: Command, options: readonly OptionDescription[]): void {
  for (const { flags, description, parse, initial, check } of options) {
    const option = command.createOption(flags, description);
    if (parse !== undefined) option.argParser(parse as (text: string, previous: unknown) => unknown);
    if (initial !== undefined) option.default(initial);
    if (description === undefined) option.hideHelp();
    command.addOption(option);
    if (check !== undefined)
      command.hook("preAction", () => check(command.getOptionValue(option.attributeName()) as never));
  }
}
