/** An option of a command. */
export interface OptionDescription {
  /** As commander reads it: short and long name, and the value behind the long one. */
  readonly flags: string;
  /** For the help; options without it are not listed there. */
  readonly description?: string;
  /** The value that a text stands for, from it and the value before. @throws UserError in one line */
  readonly parse?: (text: string, previous: never) => unknown;
  readonly initial?: unknown;
}

export interface PlainArguments {
  /** What is no option. */
  readonly operands: string[];
  /** Values by the long names of options, as commander names them. */
  readonly options: Record<string, unknown>;
}

/**
 * Reads arguments in the forms that nearly all callers use: long options, with their values behind `=` or in the next
 * argument, short ones alone, and operands. Undefined for anything else, which commander then reads, or says what is
 * wrong with it: loading it takes longer than many an answer.
 */
export function readPlainArguments(
  known: readonly OptionDescription[],
  args: readonly string[],
): PlainArguments | undefined {
  const operands: string[] = [];
  const options: Record<string, unknown> = {};
  for (const { flags, initial } of known) {
    const name = longName(flags);
    if (initial !== undefined) options[memberOf(name)] = initial;
    // An option that is only ever switched off is on.
    else if (isNegation(name) && !has(known, positive(name))) options[memberOf(positive(name))] = true;
  }
  for (let at = 0; at < args.length; at++) {
    const argument = args[at]!;
    if (argument === "" || argument === "-" || !argument.startsWith("-")) {
      operands.push(argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const name = equals < 0 ? argument : argument.slice(0, equals);
    const option = known.find(({ flags }) => longName(flags) === name || shortName(flags) === name);
    if (option === undefined || (equals >= 0 && !name.startsWith("--"))) return undefined;
    const { flags } = option;
    let text = equals < 0 ? undefined : argument.slice(equals + 1);
    // Whether the next argument is the value of such an option, or an operand, is for commander to say.
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
  return { operands, options };
}

function setValue(
  options: Record<string, unknown>,
  { flags, parse }: OptionDescription,
  text?: string,
): void {
  const name = longName(flags);
  const isNegated = isNegation(name);
  const member = memberOf(isNegated ? positive(name) : name);
  if (text === undefined) options[member] = !isNegated;
  else options[member] = parse === undefined ? text : parse(text, options[member] as never);
}

/** All options that begin so switch another one off, whether it has a name of its own or not. */
function isNegation(name: string): boolean {
  return name.startsWith("--no-");
}

/** `--no-inlines` as `--inlines`. */
function positive(name: string): string {
  return `--${name.slice(5)}`;
}

function has(known: readonly OptionDescription[], name: string): boolean {
  return known.some(({ flags }) => longName(flags) === name);
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
