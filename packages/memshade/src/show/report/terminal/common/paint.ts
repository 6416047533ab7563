/** Styles by meaning. Each function returns its text, with or without escape sequences around it. */
export interface Paint {
  readonly heading: (text: string) => string;
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly amount: (text: string) => string;
  readonly bar: (text: string) => string;
  readonly warning: (text: string) => string;
  /** Style of the selected row. */
  readonly selected: (text: string) => string;
}

export type ColorChoice = "auto" | "always" | "never";

const plain = (text: string) => text;
const style = (open: number, close: number) => (text: string) =>
  text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`;

const COLORS: Paint = {
  heading: (text) => style(1, 22)(style(36, 39)(text)),
  strong: style(1, 22),
  faint: style(2, 22),
  amount: style(32, 39),
  bar: style(36, 39),
  warning: style(33, 39),
  selected: style(7, 27),
};

const NO_COLORS: Paint = {
  heading: plain,
  strong: plain,
  faint: plain,
  amount: plain,
  bar: plain,
  warning: plain,
  selected: plain,
};

export function createPaint(useColors: boolean): Paint {
  return useColors ? COLORS : NO_COLORS;
}

/** True for a terminal, unless NO_COLOR is set to a non-empty value or TERM is `dumb`. */
export function wantsColors(
  choice: ColorChoice,
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  if (choice !== "auto") return choice === "always";
  return isTerminal && !environment.NO_COLOR && environment.TERM !== "dumb";
}
