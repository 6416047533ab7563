import type { Command, Option } from "commander";
import { UserError } from "../ground/bytes/errors.ts";

/** What the help calls arguments and values of options that name files, folders and pages. */
const NAMES: ReadonlySet<string> = new Set(
  "run old new file input in.wasm out.wasm program script.js url store dir exe path host[::guest".split(" "),
);

/** `show` fails in the words of the tool that it stands for. */
const WITH_WORDS_OF_OTHERS: readonly string[] = ["show"];

/**
 * A name is empty where the shell knows no variable of it: whoever reads files would complain of one without a name.
 *
 * @throws UserError for the first empty one
 */
export function refuseEmptyNames(command: Command): void {
  if (WITH_WORDS_OF_OTHERS.includes(command.name())) return;
  for (const [index, argument] of command.registeredArguments.entries())
    if (NAMES.has(argument.name()) && isEmpty(command.processedArgs[index]))
      throw new UserError(`the argument <${argument.name()}> is "", which names nothing`);
  for (const option of command.options)
    if (NAMES.has(valueNameOf(option)) && isEmpty(command.getOptionValue(option.attributeName())))
      throw new UserError(`${option.long ?? option.short} is "", which names nothing`);
}

function isEmpty(given: unknown): boolean {
  return given === "" || (Array.isArray(given) && given.includes(""));
}

function valueNameOf({ flags }: Option): string {
  return /[<[]([^>\]]+)/.exec(flags)?.[1] ?? "";
}
