import type { Command } from "commander";
import type { OptionDescription } from "../plain-arguments.ts";

/** Tells commander of options; those without a description are not in the help. */
export function addOptions(command: Command, options: readonly OptionDescription[]): void {
  for (const { flags, description, parse, initial } of options) {
    const option = command.createOption(flags, description);
    if (parse !== undefined) option.argParser(parse as (text: string, previous: unknown) => unknown);
    if (initial !== undefined) option.default(initial);
    if (description === undefined) option.hideHelp();
    command.addOption(option);
  }
}
