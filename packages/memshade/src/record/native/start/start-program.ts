import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, type Stats, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { UserError } from "../../../ground/bytes/errors.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { fileSource } from "../../../names/load/file.ts";
import { isFromTerminal, onSignals, signalName } from "../../host/run/die-by-signal.ts";
import {
  argumentBytes,
  assertPlacesForInherited,
  closeInherited,
  environmentBytes,
  inherited,
  inheritedStdio,
  programEnvironment,
} from "../../host/run/inherited.ts";
import { type Launch, placeLauncher, REPORT, REPORT_BYTES } from "./launcher.ts";

/** End of a program, or why it has not begun. */
export interface ProgramEnd {
  code: number | null;
  /** Name such as `SIGTERM` or `SIGRTMIN+3`. */
  signal: string | null;
  /** Step that has failed before the program began. */
  failure?: StartFailure | undefined;
  /** Failure because of which the program was started by `ProgramStart.otherwise`. */
  startedOtherwise?: StartFailure | undefined;
}

/** A failed step of the launcher (`REPORT`, or a step of `enter`), and its errno. */
export interface StartFailure {
  step: number;
  error: number;
}

export interface RunningProgram {
  /** 0 if the program has not begun. */
  pid: number;
  end: Promise<ProgramEnd>;
}

export interface ProgramStart {
  /** Folder for the launcher, which allows execution. */
  readonly folder: string;
  readonly enter?: Launch["enter"];
  /** Path to execute instead of the program if `enter` fails. */
  readonly otherwise?: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

/** Layout of a status: signal in the lowest bits, then the exit code. */
const SIGNAL_BITS = 0x7f;
const CODE_AT = 8;
const CODE_BITS = 0xff;

/**
 * Starts a program with the state that this process has inherited, and forwards signals that end programs.
 * Keys of the terminal reach it directly.
 */
export async function startProgram(
  { file, argv }: ExecutedProgram,
  options: ProgramStart,
): Promise<RunningProgram> {
  assertPlacesForInherited();
  const stdio = inheritedStdio();
  const reportsAt = stdio.length;
  const { enter, otherwise } = options;
  const launcher = placeLauncher(options.folder, {
    program: file,
    argv: argumentBytes(argv),
    enter,
    otherwise,
    reports: reportsAt,
    environment: environmentBytes({ ...programEnvironment(), ...options.environment }),
    inherited: inherited(),
  });
  const send = (signal: NodeJS.Signals): unknown => isFromTerminal(signal) || reports.send(signal);
  // Handlers come first: the program runs before `spawn` returns, and a signal that ended this process would
  // leave it alone.
  const stop = onSignals({ SIGINT: send, SIGQUIT: send, SIGTERM: send, SIGHUP: send });
  const reports = new LauncherReports(
    spawn(launcher, [], { argv0: argv[0], stdio: [...stdio, "pipe"], env: {} }),
    reportsAt,
    otherwise !== undefined,
  );
  closeInherited();
  const end = reports.end.finally(stop);
  return { pid: await Promise.race([reports.started, end.then(() => 0)]), end };
}

class LauncherReports {
  readonly started: Promise<number>;
  readonly end: Promise<ProgramEnd>;
  readonly #hasOther: boolean;
  #status: number | undefined;
  #failure: StartFailure | undefined;
  #startedOtherwise: StartFailure | undefined;
  #unread: Buffer = Buffer.alloc(0);

  /** @param hasOther the program is started in another way if `enter` fails */
  constructor(launcher: ChildProcess, reportsAt: number, hasOther: boolean) {
    this.#hasOther = hasOther;
    this.started = new Promise((started) => {
      const reports = launcher.stdio[reportsAt] as Readable;
      reports.on("data", (bytes: Buffer) => this.#read(bytes, started));
    });
    this.end = new Promise((ended, failed) => {
      launcher.on("error", failed);
      launcher.on("close", (code, signal) => ended(this.#endOf(code, signal)));
    });
  }

  send(signal: NodeJS.Signals): void {
    void this.started.then((pid) => {
      // After the program's end, its id may belong to another process.
      if (this.#status !== undefined) return;
      try {
        process.kill(pid, signal);
      } catch {
        // The program has ended without a report yet: `timeout` signals it and this process at once.
      }
    });
  }

  #read(bytes: Buffer, started: (pid: number) => void): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (; this.#unread.length >= REPORT_BYTES; this.#unread = this.#unread.subarray(REPORT_BYTES)) {
      const [kind, value] = [this.#unread.readUint32LE(0), this.#unread.readUint32LE(4)];
      if (kind === REPORT.started) started(value);
      else if (kind === REPORT.ended) this.#status = value;
      else if (kind >= REPORT.enter && this.#hasOther) this.#startedOtherwise = { step: kind, error: value };
      else this.#failure = { step: kind, error: value };
    }
  }

  /** Returns the end of the program, or of the launcher if that was killed. */
  #endOf(code: number | null, signal: string | null): ProgramEnd {
    const status = this.#status;
    const start = { failure: this.#failure, startedOtherwise: this.#startedOtherwise };
    if (status === undefined) return { code, signal, ...start };
    const number = status & SIGNAL_BITS;
    if (number !== 0) return { code: null, signal: signalName(number), ...start };
    return { code: (status >> CODE_AT) & CODE_BITS, signal: null, ...start };
  }
}

export interface ExecutedProgram {
  file: string;
  argv: string[];
}

/** Most nested interpreters that the kernel follows. */
const MOST_INTERPRETERS = 4;
/** Bytes of a first line that the kernel reads. */
const LONGEST_LINE = 255;

/**
 * Returns the program that a command executes: the file itself, or the interpreter in its first line with the
 * script as an argument. `#!/usr/bin/env NAME` is replaced by NAME, because env would be profiled otherwise.
 * @throws UserError if there is no such program, or a script's interpreter cannot be executed
 *
 * A script that begins with `#!/usr/bin/python3 -u`, called as `./serve.py --port 80`, is `/usr/bin/python3`
 * with the arguments `-u ./serve.py --port 80`.
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

/** Returns the text after `#!`; undefined if the file is no script. */
function firstLine(file: string): string | undefined {
  const source = fileSource(file);
  const text = new TextDecoder("latin1").decode(source.read(0, LONGEST_LINE));
  return text.startsWith("#!") ? text.slice(2).split("\n", 1)[0].trim() : undefined;
}

/**
 * Returns the interpreter and its argument before the script. The kernel passes all words after the
 * interpreter as one argument.
 */
function interpreterOf(script: string, line: string): [string, ...string[]] {
  const [interpreter, rest = ""] = line.split(/\s+(.*)/s);
  if (interpreter === "") throw new UserError(`${script}: its first line names no interpreter`);
  if (!/(?:^|\/)env$/.test(interpreter)) return rest === "" ? [interpreter] : [interpreter, rest];
  const [name, ...words] = rest.startsWith("-S") ? rest.slice(2).trim().split(/\s+/) : [rest];
  if (name === "" || name.startsWith("-") || name.includes("="))
    throw new UserError(
      `${script}: its first line passes options to env, which cannot be recorded; put the interpreter before the script: memshade run INTERPRETER ${script}`,
    );
  return [name, ...words];
}

/**
 * Returns the file that a shell would execute: a name with a slash is a path, others are searched in `PATH`.
 * @throws UserError if there is none, it is a folder, or it is not executable
 */
function findProgram(name: string, searchPath: string | undefined = process.env.PATH): string {
  if (name.includes("/")) {
    const problem = problemOf(name);
    if (problem !== undefined) throw new UserError(`${name}: ${problem}`);
    return name;
  }
  const places = (searchPath ?? "").split(delimiter).map((folder) => join(folder || ".", name));
  const found = places.find((place) => problemOf(place) === undefined);
  if (found !== undefined) return found;
  // A file of that name in this folder is probably meant.
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
  if (!status.isFile()) return "it is not a regular file";
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return "it may not be executed (chmod +x makes it so)";
  }
  return undefined;
}

/** Returns the status of a file, or why it has none. A folder on the path may not be accessible. */
function tryStatus(path: string): Stats | string {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? "no such file";
  } catch (error) {
    return describeSystemError(error);
  }
}
