import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { makeFolders } from "./make-folders.ts";
import type { ProfileFile } from "./recorder.ts";

/** What the place holders of `--out` stand for. */
export interface OutValues {
  pid: number;
  /** How many folders this process has written, counting this one: 1, 2, … */
  sequence: number;
  environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Expands Valgrind's place holders: `%p` process id, `%n` sequence number, `%q{VAR}` environment variable, `%%` a
 * per cent sign.
 *
 * @throws UserError for any other place holder, for a variable that is not set, and if nothing is left.
 */
export function expandOutTemplate(template: string, values: OutValues): string {
  const path = template.replace(
    /%(?:q\{([^}]*)\}|(.?))/gs,
    (whole, variable: string | undefined, letter: string) => {
      if (variable !== undefined) {
        const value = values.environment[variable];
        if (value === undefined) throw new UserError(`--out: ${whole}: the environment variable is not set`);
        return value;
      }
      if (letter === "p") return String(values.pid);
      if (letter === "n") return String(values.sequence);
      if (letter === "%") return "%";
      throw new UserError(`--out: unknown place holder ${whole}; known are %p, %n, %q{VAR} and %%`);
    },
  );
  if (path === "") throw new UserError("--out takes the folder to write, not an empty name");
  return path;
}

/** Short name of a program: the file name without its extension. */
export function programName(path: string): string {
  const name = basename(path);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** Where a run goes without `--out`. */
export function defaultOutTemplate(cwd: string, program: string): string {
  return `${join(cwd, "memshade.out").replaceAll("%", "%%")}/${program.replaceAll("%", "%%")}.%p`;
}

/** The template of a profile taken while the program goes on: a folder of its own beside the final one. */
export function dumpTemplate(template: string): string {
  return /(?:^|[^%])(?:%%)*%n/.test(template) ? template : `${template}.dump%n`;
}

/** Names of the folders of this process: the final one, and one for each dump while it runs. */
export class RunFolders {
  readonly #template: string;
  readonly #environment: OutValues["environment"];
  #dumps = 0;

  constructor(template: string, environment: OutValues["environment"] = process.env) {
    this.#template = template;
    this.#environment = environment;
  }

  next(dump: boolean): string {
    if (dump) this.#dumps++;
    return expandOutTemplate(dump ? dumpTemplate(this.#template) : this.#template, {
      pid: process.pid,
      sequence: dump ? this.#dumps : this.#dumps + 1,
      environment: this.#environment,
    });
  }
}

/**
 * Checks that a folder can be made and filled later on, by making and removing one beside it.
 *
 * @throws UserError naming the reason.
 */
export function assertFolderWritable(folder: string): void {
  let ancestor = resolve(folder);
  while (!existsSync(ancestor) && dirname(ancestor) !== ancestor) ancestor = dirname(ancestor);
  try {
    if (!statSync(ancestor).isDirectory()) {
      throw new UserError(`cannot write the profile to ${folder}: ${ancestor} is not a folder`);
    }
    rmdirSync(mkdtempSync(join(ancestor, ".memshade-")));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot write the profile to ${folder}: ${describeSystemError(error)}`);
  }
}

/**
 * Writes the files of a run. They appear under their final names only when all of them are whole; when anything
 * fails nothing is left behind.
 */
export function writeRunFolder(folder: string, files: readonly ProfileFile[]): void {
  const target = resolve(folder);
  const madeParent = makeFolders(dirname(target));
  try {
    if (existsSync(target)) replaceFiles(target, files);
    else makeFolder(target, files);
  } catch (error) {
    if (madeParent !== undefined) rmSync(madeParent, { recursive: true, force: true });
    throw error;
  }
}

function makeFolder(target: string, files: readonly ProfileFile[]): void {
  const partial = join(dirname(target), `.${basename(target)}.${process.pid}.partial`);
  try {
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial);
    for (const file of files) writeWhole(join(partial, file.name), file.contents);
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  }
}

function replaceFiles(target: string, files: readonly ProfileFile[]): void {
  const partialOf = (file: ProfileFile) => join(target, `.${file.name}.${process.pid}.partial`);
  try {
    for (const file of files) writeWhole(partialOf(file), file.contents);
    for (const file of files) renameSync(partialOf(file), join(target, file.name));
  } catch (error) {
    for (const file of files) rmSync(partialOf(file), { force: true });
    throw error;
  }
}

function writeWhole(path: string, contents: string | Uint8Array): void {
  const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
  const file = openSync(path, "w");
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  } finally {
    closeSync(file);
  }
}
