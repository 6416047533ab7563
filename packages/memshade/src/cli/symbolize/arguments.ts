import { SYMBOLIZE_OPTIONS, type SymbolizeOption, type SymbolizeOptions } from "./options.ts";

export interface SymbolizeArguments {
  readonly addresses: string[];
  readonly options: SymbolizeOptions;
}

/**
 * Reads arguments in the forms that nearly all callers use: long options, with their values behind `=` or in the next
 * argument, short ones alone, and addresses. Undefined for anything else, which commander then reads, or says what is
 * wrong with it: loading it takes longer than many an answer.
 */
export function readPlainArguments(args: readonly string[]): SymbolizeArguments | undefined {
  const addresses: string[] = [];
  const options: Record<string, unknown> = {};
  for (const { flags, initial } of SYMBOLIZE_OPTIONS)
    if (initial !== undefined) options[memberOf(longName(flags))] = initial;
  for (let at = 0; at < args.length; at++) {
    const argument = args[at]!;
    if (argument === "" || argument === "-" || !argument.startsWith("-")) {
      addresses.push(argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const name = equals < 0 ? argument : argument.slice(0, equals);
    const option = SYMBOLIZE_OPTIONS.find(
      ({ flags }) => longName(flags) === name || shortName(flags) === name,
    );
    if (option === undefined || (equals >= 0 && !name.startsWith("--"))) return undefined;
    const { flags } = option;
    let text = equals < 0 ? undefined : argument.slice(equals + 1);
    // Whether the next argument is the value of such an option, or an address, is for commander to say.
    if (flags.endsWith("]") && text === undefined) return undefined;
    if (flags.endsWith(">") && text === undefined) {
      text = args[++at];
      if (text === undefined || text.startsWith("-")) return undefined;
    }
    if (!/[\]>]$/.test(flags) && text !== undefined) return undefined;
    try {
      setValue(options, option, text);
    } catch {
      return undefined;
    }
  }
  return { addresses, options: options as unknown as SymbolizeOptions };
}

function setValue(options: Record<string, unknown>, { flags, parse }: SymbolizeOption, text?: string): void {
  const name = longName(flags);
  const isNegated =
    name.startsWith("--no-") &&
    SYMBOLIZE_OPTIONS.some(({ flags: other }) => longName(other) === `--${name.slice(5)}`);
  const member = memberOf(isNegated ? `--${name.slice(5)}` : name);
  if (text === undefined) options[member] = !isNegated;
  else options[member] = parse === undefined ? text : parse(text, options[member] as never);
}

function longName(flags: string): string {
  return /--[a-z-]+/.exec(flags)![0];
}

function shortName(flags: string): string | undefined {
  return /^-[a-zA-Z](?=,)/.exec(flags)?.[0];
}

/** `--output-style` as `outputStyle`. */
function memberOf(name: string): string {
  return name.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
