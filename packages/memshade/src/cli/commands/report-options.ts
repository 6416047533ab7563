import { UserError } from "../../bytes/errors.ts";
import { type ColorChoice, createPaint, wantsColors } from "../../report/terminal/common/paint.ts";
import type { ScreenOptions } from "../../report/terminal/common/screen.ts";

const COLUMNS = 80;
const COLOR_CHOICES: readonly ColorChoice[] = ["auto", "always", "never"];

/** Where a report goes to. */
export interface Terminal {
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Sentences that an earlier part of the same report has said. */
  readonly said?: Set<string>;
}

export function screenOptions(color: ColorChoice, isWide: boolean, terminal: Terminal): ScreenOptions {
  const paint = createPaint(wantsColors(color, terminal.isTerminal, terminal.environment));
  return { paint, width: COLUMNS, isWide, said: terminal.said };
}

/** The value of `-n`. */
export function parseRows(text: string): number {
  const rows = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(rows) || rows === 0) {
    throw new UserError(`-n takes a number of rows from 1, not "${text}"`);
  }
  return rows;
}

export function parseColor(text: string): ColorChoice {
  return parseChoice("--color", COLOR_CHOICES, text);
}

export function parseChoice<T extends string>(option: string, choices: readonly T[], text: string): T {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new UserError(`${option} takes one of ${choices.join(", ")}, not "${text}"`);
  }
  return found;
}

export function standardOutput(): Terminal {
  return { isTerminal: process.stdout.isTTY === true, environment: process.env };
}
