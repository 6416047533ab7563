import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { type NativeProgram, PROGRAMS } from "../native/programs.ts";
import { MORE_PROGRAMS } from "./more-programs.ts";

const PROGRAMS_OF_ALL_KINDS: readonly NativeProgram[] = [...PROGRAMS, ...MORE_PROGRAMS];

/** Time limit, for a program with much output on a busy machine. */
const MOST_MILLISECONDS = 900_000;

interface Outcome {
  /** exit code; for a signal, the code that shells give */
  status: number;
  stdout: Buffer;
}

function outcome(command: readonly string[], input: string | undefined, folder: string): Outcome {
  const options = { input: input ?? "", cwd: folder, maxBuffer: 1 << 29, timeout: MOST_MILLISECONDS };
  const { status, signal, stdout } = spawnSync(command[0], command.slice(1), options);
  return { status: status ?? 128 + (signal === null ? 0 : constants.signals[signal]), stdout };
}

/**
 * Runs programs plain and in another way, and prints a line for each: whether output and exit code or signal are the same.
 * @param only names of programs; none: all
 * @param otherwise the command that runs a program in the other way, and a remark to print
 * @returns the number of programs that differ
 */
export function compareOutcomes(
  only: readonly string[],
  folder: string,
  otherwise: (program: NativeProgram, command: readonly string[]) => { command: string[]; note: string },
): number {
  const unknown = only.filter((name) => !PROGRAMS_OF_ALL_KINDS.some((one) => one.name === name));
  if (unknown.length > 0)
    throw new RangeError(
      `no ${unknown.join(", ")}; there are ${PROGRAMS_OF_ALL_KINDS.map(({ name }) => name).join(" ")}`,
    );
  let different = 0;
  for (const program of PROGRAMS_OF_ALL_KINDS) {
    const { name, package: packageName, input } = program;
    if (only.length > 0 && !only.includes(name)) continue;
    const command = program.command(folder);
    if (command === undefined) {
      console.error(`${name} is SKIPPED, not installed (${packageName})`);
      continue;
    }
    const plain = outcome(command, input, folder);
    if (!outcome(command, input, folder).stdout.equals(plain.stdout)) {
      console.log(`${name}: its output is another one each time`);
      continue;
    }
    const other = otherwise(program, command);
    const found = outcome(other.command, input, folder);
    const isSame = found.status === plain.status && found.stdout.equals(plain.stdout);
    if (!isSame) different++;
    const said = isSame ? "the same" : `DIFFERENT: ${found.status}, ${found.stdout.length} bytes`;
    console.log(`${name}: ${said} (${plain.status}, ${plain.stdout.length} bytes${other.note})`);
  }
  return different;
}
