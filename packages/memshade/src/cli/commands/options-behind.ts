import type { Command } from "commander";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { say } from "../../record/host/run/terminal-line.ts";

/**
 * Warns of options after the program's name that memshade has too, because they went to the program. Prints
 * the command line that gives them to memshade. No warning if `--` stands before the program, or if memshade
 * got the same option.
 */
export function warnOfOptionsBehind(command: Command, program: string, args: readonly string[]): void {
  const { rawArgs } = command.parent as unknown as { rawArgs: readonly string[] };
  if (rawArgs.at(-args.length - 2) === "--") return;
  const names: string[] = [];
  const meant: string[] = [];
  for (let i = 0; i < args.length && args[i] !== "--"; i++) {
    const [name] = args[i].split("=", 1);
    const option = command.options.find(({ long }) => long === name);
    if (option === undefined || command.getOptionValueSource(option.attributeName()) === "cli") continue;
    names.push(name);
    meant.push(args[i]);
    const next = args[i + 1];
    const hasValue = option.required || option.argChoices?.includes(next);
    if (name === args[i] && hasValue && next !== undefined) meant.push(args[++i]);
  }
  if (names.length === 0) return;
  const line = ["memshade", command.name(), ...meant, program].map(quoteForShell).join(" ");
  say(
    `${names.join(", ")} was passed to the program; to pass it to memshade, put it before the program: ${line}`,
  );
}
