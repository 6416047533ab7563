import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { DEFAULT_RUNS_FOLDER } from "../../../profile/model/run.ts";
import { isPlanted } from "./own-files.ts";

/** Values of the place holders of `--out`. */
export interface OutValues {
  pid: number;
  /** Number of folders that this process has written, including this one: 1, 2, … */
  sequence: number;
  environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Expands Valgrind's place holders: `%p` process id, `%n` sequence number, `%q{VAR}` environment variable, `%%` a per
 * cent sign.
 * @throws UserError for any other place holder, for a variable that is not set, and if the result is empty.
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

/** Returns the short name of a program: the file name without its extension. */
export function programName(path: string): string {
  const name = basename(path);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/**
 * Returns the template without `--out`. @throws UserError if another user has created that folder in a place where all
 * can write
 */
export function defaultOutTemplate(cwd: string, program: string): string {
  const runs = join(cwd, DEFAULT_RUNS_FOLDER);
  if (isPlanted(runs))
    throw new UserError(
      `${runs} belongs to another user, in a folder where all can write: name another one with --out`,
    );
  return `${join(cwd, DEFAULT_RUNS_FOLDER).replaceAll("%", "%%")}/${program.replaceAll("%", "%%")}.%p`;
}

export function hasPlaceHolder(template: string, letter: string): boolean {
  return new RegExp(`^(?:[^%]|%[^${letter}])*%${letter}`, "s").test(template);
}

/** Returns the template of dumps: a folder of its own beside the final one. */
export function dumpTemplate(template: string): string {
  return hasPlaceHolder(template, "n") ? template : `${template}.dump%n`;
}

/** Names of the folders of this process: the final one, and one for each dump. */
export class RunFolders {
  readonly #template: string;
  readonly #keepsEarlier: boolean;
  readonly #environment: OutValues["environment"];
  #dumps = 0;

  /**
   * @param keepsEarlier true for default names: existing folders with such a name are kept, since process ids recur.
   */
  constructor(template: string, keepsEarlier: boolean, environment: OutValues["environment"] = process.env) {
    this.#template = template;
    this.#keepsEarlier = keepsEarlier;
    this.#environment = environment;
  }

  next(dump: boolean): string {
    if (dump) this.#dumps++;
    const folder = expandOutTemplate(dump ? dumpTemplate(this.#template) : this.#template, {
      pid: process.pid,
      sequence: dump ? this.#dumps : this.#dumps + 1,
      environment: this.#environment,
    });
    let free = folder;
    for (let i = 2; this.#keepsEarlier && existsSync(free); i++) free = `${folder}.${i}`;
    return free;
  }
}
