import type { InstrumentOptions } from "../../src/record/tools/index.ts";
import { PLAIN, Rewriting } from "./engine.ts";
import { type Form, type Outcome, runScript } from "./run-script.ts";
import type { Script } from "./script.ts";

/** Limits for reading back recorded data, which takes longer than running a script: number of scripts, and of modules in each. */
const READ_SCRIPTS = 6;
const MOST_READ_MODULES = 3;

/** Outcomes of each script without tools. */
export type Plain = ReadonlyMap<Script, readonly Outcome[]>;

export interface Comparison {
  /** Number of compared assertions, and of those that the engine rejects even without tools. */
  compared: number;
  refused: number;
  /**
   * Outcomes of rewritten modules that differ, with both outcomes, by `script:line`; `script:end` is the final state of
   * memories, tables and globals.
   */
  differences: Record<string, string>;
}

export function runPlain(scripts: readonly Script[], form: Form): Plain {
  return new Map(scripts.map((script) => [script, runScript(script, PLAIN, form)]));
}

export function compareScripts(plain: Plain, options: InstrumentOptions, form: Form): Comparison {
  const all: Comparison = { compared: 0, refused: 0, differences: {} };
  let read = 0;
  for (const [script, outcomes] of plain) {
    const engine = new Rewriting(options);
    compareOutcomes(all, script.file, outcomes, runScript(script, engine, form));
    if (script.modules.length <= MOST_READ_MODULES && read++ < READ_SCRIPTS) engine.readBack();
  }
  return all;
}

function compareOutcomes(
  all: Comparison,
  file: string,
  plain: readonly Outcome[],
  rewritten: readonly Outcome[],
): void {
  for (let i = 0; i < Math.max(plain.length, rewritten.length); i++) {
    const { line, type, ran } = plain[i] ?? rewritten[i];
    const [before, after] = [plain[i], rewritten[i]].map((outcome) => outcome?.text ?? "nothing");
    if (ran && comparable(before) !== comparable(after))
      all.differences[`${file}:${line}`] = `plain: ${before}; rewritten: ${after}`;
    if (!type.startsWith("assert_")) continue;
    if (ran) all.compared++;
    else all.refused++;
  }
}

/**
 * Removes the reason of a link error: the waste tool lowers the maximum of memories, so the engine gives another reason if a module wants
 * a lower one.
 */
function comparable(text: string): string {
  return text.replace(/(memory import has) (no maximum|a larger maximum).*/, "$1 another maximum");
}
