import { accessSync, constants, type Stats, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { fileSource } from "../../../names/load/file.ts";

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

/**
 * The file that a shell would run for a name: as it stands if there is a slash in it, else the first of that name in `PATH`.
 *
 * @throws UserError in one line: there is none, or it is a folder, or it may not be run
 */
export function findProgram(name: string, searchPath: string | undefined = process.env.PATH): string {
  if (name.includes("/")) {
    const problem = problemOf(name);
    if (problem !== undefined) throw new UserError(`${name}: ${problem}`);
    return name;
  }
  const places = (searchPath ?? "").split(delimiter).map((folder) => join(folder || ".", name));
  const found = places.find((place) => problemOf(place) === undefined);
  if (found !== undefined) return found;
  // A file of that name here is what was meant, most likely.
  const here = statSync(name, { throwIfNoEntry: false })?.isFile() === true;
  throw new UserError(
    here
      ? `${name}: no program of that name is in PATH; for the file in this folder: ./${name}`
      : `${name}: there is no such file, and no program of that name in PATH`,
  );
}

function problemOf(path: string): string | undefined {
  const status = tryStatus(path);
  if (typeof status === "string") return status;
  if (status.isDirectory()) return "it is a folder, not a program";
  if (!status.isFile()) return "it is no regular file";
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return "it may not be executed (chmod +x makes it so)";
  }
  return undefined;
}

/** Or why it has none: a folder on the way may be somebody else's. */
function tryStatus(path: string): Stats | string {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? "no such file";
  } catch (error) {
    return describeSystemError(error);
  }
}
