// `bytes>1MiB left>0 fn:~shop -file:dlmalloc "two words"`: terms that all must hold. Text is looked for in call paths before
// anything is summed, figures are compared after it.

/** Where text is looked for: anywhere on the call path, or where the site is. */
export type TextField = "path" | "function" | "file" | "package";

export interface TextTerm {
  readonly field: TextField;
  readonly isWanted: boolean;
  matches(text: string): boolean;
}

export interface FigureTerm {
  /** Id of a weight. */
  readonly weight: string;
  /** Whether `amount` is of one per cent of the weight's total. */
  readonly isShare: boolean;
  readonly isWanted: boolean;
  matches(value: number): boolean;
}

export interface Filter {
  readonly texts: readonly TextTerm[];
  readonly figures: readonly FigureTerm[];
  /** What could not be understood, a sentence each; such terms filter nothing. */
  readonly mistakes: readonly string[];
}

const FIELDS: Readonly<Record<string, TextField>> = {
  path: "path",
  fn: "function",
  function: "function",
  file: "file",
  pkg: "package",
  package: "package",
};

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
};

const COMPARISONS: Readonly<Record<string, (value: number, amount: number) => boolean>> = {
  ">": (value, amount) => value > amount,
  ">=": (value, amount) => value >= amount,
  "<": (value, amount) => value < amount,
  "<=": (value, amount) => value <= amount,
  "=": (value, amount) => value === amount,
};

/** @param weights ids of the weights that figures can be compared of */
export function readFilter(text: string, weights: readonly string[]): Filter {
  const texts: TextTerm[] = [];
  const figures: FigureTerm[] = [];
  const mistakes: string[] = [];
  for (const [written] of text.matchAll(/(?:"[^"]*"?|[^\s"])+/g)) {
    const isWanted = !written.startsWith("-") || written.length === 1;
    const term = isWanted ? written : written.slice(1);
    const figure = /^([\p{L}\p{N}_-]+)(>=|<=|>|<|=)(.*)$/u.exec(term);
    try {
      if (figure) figures.push({ ...readFigure(figure[1], figure[2], figure[3], weights), isWanted });
      else texts.push({ ...readText(term), isWanted });
    } catch (error) {
      mistakes.push((error as Error).message);
    }
  }
  return { texts, figures, mistakes };
}

function readText(term: string): Omit<TextTerm, "isWanted"> {
  const colon = term.indexOf(":");
  const name = term.slice(0, colon).toLowerCase();
  const field = colon > 0 && !term.startsWith('"') && Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  const pattern = (field === undefined ? term : term.slice(colon + 1)).replaceAll('"', "");
  if (pattern.startsWith("~")) {
    const expression = readExpression(pattern.slice(1));
    return { field: field ?? "path", matches: (text) => expression.test(text) };
  }
  const wanted = pattern.toLowerCase();
  return { field: field ?? "path", matches: (text) => text.toLowerCase().includes(wanted) };
}

function readExpression(source: string): RegExp {
  try {
    return new RegExp(source, "iu");
  } catch {
    throw new Error(`“${source}” is no regular expression`);
  }
}

function readFigure(
  name: string,
  comparison: string,
  amount: string,
  weights: readonly string[],
): Omit<FigureTerm, "isWanted"> {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, "");
  const weight = weights.find((id) => plain(id) === plain(name));
  if (weight === undefined) throw new Error(`There is no figure “${name}”: ${weights.join(", ")}`);
  const parts = /^(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*|%)$/i.exec(amount);
  const unit = parts?.[2].toLowerCase() ?? "";
  if (!parts || !(unit === "%" || Object.hasOwn(UNITS, unit)))
    throw new Error(`“${amount}” is no amount: 12, 1.5MiB, 20k and 5% are`);
  const limit = Number(parts[1]) * (unit === "%" ? 0.01 : UNITS[unit]);
  const compare = COMPARISONS[comparison];
  return { weight, isShare: unit === "%", matches: (value) => compare(value, limit) };
}
