import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { readWholeFile } from "../../names/load/file.ts";
import { writeWholeFile } from "../../names/load/whole-file.ts";
import type { InstrumentOptions, SiteRuns } from "../tools/index.ts";
import type { ModuleRuns } from "../tools/waste/read/site-runs.ts";
import { nativeSha256Hex } from "./module/native-sha256.ts";
import { say } from "./run/terminal-line.ts";

const FORMAT = "memshade learned runs 1";
const MODULE = /^module ([0-9a-f]{64})$/;
const SITE = /^(\d{1,15}) (\d{1,15})$/;

/**
 * Runs of the loads and stores of each module in its last run, in the file named by `--learn`. The first line is the
 * format. Each module has a line with its SHA-256. A line per load or store that ran follows: the distance from the
 * previous one in the code, and its runs.
 */
export class LearnedRuns {
  readonly #file: string | undefined;

  /** `file`: undefined if nothing is learned. */
  constructor(file: string | undefined) {
    this.#file = file;
  }

  /**
   * Adds the runs of a module to the options for rewriting it.
   * @throws UserError if the file exists but has another format.
   */
  added(options: InstrumentOptions, original: Uint8Array): InstrumentOptions {
    if (this.#file === undefined) return options;
    const siteRuns = read(this.#file).get(nativeSha256Hex(original));
    return siteRuns === undefined ? options : { ...options, waste: { ...options.waste, siteRuns } };
  }

  /**
   * Replaces the runs of some modules in the file. Those of other modules stay.
   * @returns false, after printing a message, if the file cannot be written.
   */
  keep(modules: readonly ModuleRuns[]): boolean {
    if (this.#file === undefined || modules.length === 0) return true;
    try {
      const runsOf = read(this.#file);
      for (const { original, runs } of modules)
        if (runs.offsets.length > 0) runsOf.set(nativeSha256Hex(original), runs);
      const text = textOf(runsOf);
      writeWholeFile(this.#file, (file) => file.write(text));
      return true;
    } catch (error) {
      say(`what was learned is lost: ${describeSystemError(error)}`);
      return false;
    }
  }
}

/**
 * Returns the absolute path of a file for `LearnedRuns`, since the program may change its working directory.
 * @throws UserError if the file has another format or cannot be written.
 */
export function learnedFile(name: string): string {
  const file = resolve(name);
  read(file);
  try {
    // A new file is written beside the old one first.
    accessSync(dirname(file), constants.W_OK);
    if (existsSync(file)) accessSync(file, constants.W_OK);
  } catch (error) {
    throw new UserError(`--learn: cannot write ${file}: ${describeSystemError(error)}`);
  }
  return file;
}

/** Reads a file as runs by the digests of modules; empty if there is no file. */
function read(file: string): Map<string, SiteRuns> {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return new Map();
  const found = runsIn(new TextDecoder().decode(readWholeFile(file)));
  if (found === undefined) throw new UserError(`${file}: not a file that --learn has written`);
  return found;
}

function runsIn(text: string): Map<string, SiteRuns> | undefined {
  const [format, ...lines] = text.split("\n");
  if (format !== FORMAT || lines.pop() !== "") return undefined;
  const runsOf = new Map<string, SiteRuns>();
  let offsets: number[] | undefined;
  let runs: number[] = [];
  let offset = 0;
  for (const line of lines) {
    const digest = MODULE.exec(line)?.[1];
    if (digest !== undefined) {
      offsets = [];
      runs = [];
      offset = 0;
      runsOf.set(digest, { offsets, runs });
      continue;
    }
    const [, distance, count] = SITE.exec(line) ?? [];
    if (distance === undefined || offsets === undefined) return undefined;
    offset += Number(distance);
    offsets.push(offset);
    runs.push(Number(count));
  }
  return runsOf;
}

function textOf(runsOf: ReadonlyMap<string, SiteRuns>): string {
  const lines = [FORMAT];
  for (const [digest, { offsets, runs }] of runsOf) {
    lines.push(`module ${digest}`);
    offsets.forEach((offset, i) => {
      lines.push(`${offset - (offsets[i - 1] ?? 0)} ${runs[i]}`);
    });
  }
  return `${lines.join("\n")}\n`;
}
