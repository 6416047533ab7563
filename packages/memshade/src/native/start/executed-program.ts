import { UserError } from "../../bytes/errors.ts";
import { fileSource } from "../../load/file.ts";
import { findProgram } from "./find-program.ts";

/** What is started for a command: an ELF file with its arguments. */
export interface ExecutedProgram {
  /** Path of the ELF file. */
  file: string;
  /** What it sees as its own name, and its arguments. */
  argv: string[];
}

/** As many interpreters the kernel follows, each of which may be a script again. */
const MOST_INTERPRETERS = 4;
/** So much of a first line the kernel reads. */
const LONGEST_LINE = 255;

/**
 * What runs when a command is started: the program itself, or the interpreter that its first line names, with the script as its
 * argument. `#!/usr/bin/env NAME` stands for NAME, because env would replace itself by it, and be what is profiled.
 *
 * @throws UserError in one line: there is no such program, or a script names no interpreter that can be run
 *
 * A script that begins with `#!/usr/bin/python3 -u`, called as `./serve.py --port 80`, is `/usr/bin/python3` with the arguments
 * `-u ./serve.py --port 80`.
 */
export function executedProgram(name: string, args: readonly string[]): ExecutedProgram {
  let file = findProgram(name);
  let argv = [name, ...args];
  for (let depth = 0; depth <= MOST_INTERPRETERS; depth++) {
    const line = firstLine(file);
    if (line === undefined) return { file, argv };
    const [interpreter, ...words] = interpreterOf(file, line);
    argv = [interpreter, ...words, file, ...argv.slice(1)];
    file = findInterpreter(file, interpreter);
  }
  throw new UserError(`${name}: its interpreters are scripts that name each other`);
}

function findInterpreter(script: string, interpreter: string): string {
  try {
    return findProgram(interpreter);
  } catch (error) {
    throw error instanceof UserError ? new UserError(`${script}: its interpreter ${error.message}`) : error;
  }
}

/** What stands behind `#!`; undefined for what is no script. */
function firstLine(file: string): string | undefined {
  const source = fileSource(file);
  const text = new TextDecoder("latin1").decode(source.read(0, LONGEST_LINE));
  return text.startsWith("#!") ? text.slice(2).split("\n", 1)[0].trim() : undefined;
}

/** The interpreter and what comes before the script; the kernel gives all that follows the interpreter as one argument. */
function interpreterOf(script: string, line: string): [string, ...string[]] {
  const [interpreter, rest = ""] = line.split(/\s+(.*)/s);
  if (interpreter === "") throw new UserError(`${script}: its first line names no interpreter`);
  if (!/(?:^|\/)env$/.test(interpreter)) return rest === "" ? [interpreter] : [interpreter, rest];
  const [name, ...words] = rest.startsWith("-S") ? rest.slice(2).trim().split(/\s+/) : [rest];
  if (name === "" || name.startsWith("-") || name.includes("="))
    throw new UserError(
      `${script}: env sets up its interpreter; name the interpreter in front of the script instead`,
    );
  return [name, ...words];
}
