import { explainFailure } from "./failures.ts";
import { readSymbolizeArguments } from "./symbolize/arguments.ts";
import { CompilerTiers } from "./symbolize/compiler-tiers.ts";
import { runSymbolize } from "./symbolize/run-symbolize.ts";

let tiers: CompilerTiers | undefined;

/** Takes back what was changed in the engine, after `symbolizeQuickly`. */
export function restoreEngine(): void {
  tiers?.restore();
}

/**
 * `memshade symbolize` without the machinery of the other commands: to load that takes longer than most answers.
 *
 * @param args what stands behind `symbolize`
 * @returns false for arguments that are not plain, and for `--help`: nothing has happened then
 */
export function symbolizeQuickly(args: readonly string[]): boolean {
  const plain = readSymbolizeArguments(args);
  if (plain === undefined) return false;
  try {
    tiers = new CompilerTiers();
    runSymbolize(plain, tiers);
  } catch (error) {
    process.exitCode = explainFailure(error);
  }
  return true;
}
