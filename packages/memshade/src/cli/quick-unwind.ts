import { explainFailure } from "./failures.ts";
import { plainStandardOutput } from "./output.ts";
import { readPlainArguments } from "./plain-arguments.ts";
import { UNWIND_OPTIONS, type UnwindOptions } from "./unwind/options.ts";
import { runUnwind } from "./unwind/run-unwind.ts";

/**
 * `memshade unwind` without the machinery of the other commands: to load that takes as long as ten thousand samples.
 *
 * @param args what stands behind `unwind`
 * @returns false for arguments that are not plain, and for `--help`: nothing has happened then
 */
export async function unwindQuickly(args: readonly string[]): Promise<boolean> {
  const plain = readPlainArguments(UNWIND_OPTIONS, args);
  const input = plain?.operands[0];
  if (plain === undefined || input === undefined || plain.operands.length > 1) return false;
  const options = plain.options as unknown as UnwindOptions;
  try {
    await runUnwind(input, options, plainStandardOutput);
  } catch (error) {
    process.exitCode = explainFailure(error);
  }
  return true;
}
