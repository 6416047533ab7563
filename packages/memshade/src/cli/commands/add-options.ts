import type { Command } from "commander";

export interface OptionDescription {
  /** Short and long name and the value, in commander's syntax. */
  readonly flags: string;
  /** Help text; an option without it is hidden. */
  readonly description?: string;
  /** Parses the text of a value; `previous` is the value so far. @throws UserError in one line */
  readonly parse?: (text: string, previous: never) => unknown;
  readonly initial?: unknown;
  /**
   * Checks the value before the command runs, even if the option was not given. @throws UserError in one line
   */
  readonly check?: (value: never) => void;
}

/** Adds options to a command. Those without a description are not in the help. */
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

/** Adds a value to those of an option that can be repeated. */
export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}
