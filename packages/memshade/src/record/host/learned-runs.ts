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
/** Distance from the last site in the code, and how often this one ran. */
const SITE = /^(\d{1,15}) (\d{1,15})$/;

/**
 * What the last run of each module did, in a file that somebody has named with `--learn`: a line with the format, then for each module
 * a line with its SHA-256 and one for each load and store that ran.
 */
export class LearnedRuns {
  readonly #file: string | undefined;

  /** `file`: undefined where nothing is to be learned. */
  constructor(file: string | undefined) {
    this.#file = file;
  }

  /**
   * Options for rewriting a module, with what is known of it.
   *
   * @throws UserError if the file is there, but no such file.
   */
  added(options: InstrumentOptions, original: Uint8Array): InstrumentOptions {
    if (this.#file === undefined) return options;
    const siteRuns = read(this.#file).get(nativeSha256Hex(original));
    return siteRuns === undefined ? options : { ...options, waste: { ...options.waste, siteRuns } };
  }

  /**
   * Puts runs in the place of what is known of their modules. What is known of others stays.
   *
   * @returns false, and says so, if the file cannot be written.
   */
  keep(modules: readonly ModuleRuns[]): boolean {
    if (this.#file === undefined || modules.length === 0) return true;
    try {
      const known = read(this.#file);
      for (const { original, runs } of modules)
        if (runs.offsets.length > 0) known.set(nativeSha256Hex(original), runs);
      const text = textOf(known);
      writeWholeFile(this.#file, (file) => file.write(text));
      return true;
    } catch (error) {
      say(`what was learned is lost: ${describeSystemError(error)}`);
      return false;
    }
  }
}

/**
 * The absolute path of a file for `LearnedRuns`: the program may change its working directory.
 *
 * @throws UserError if it is there, but no such file; and if it cannot be written.
 */
export function learnedFile(name: string): string {
  const file = resolve(name);
  read(file);
  try {
    // The whole of it is written beside it first.
    accessSync(dirname(file), constants.W_OK);
    if (existsSync(file)) accessSync(file, constants.W_OK);
  } catch (error) {
    throw new UserError(`--learn: cannot write ${file}: ${describeSystemError(error)}`);
  }
  return file;
}

/** What is in a file by the digests of modules; nothing if there is none. */
function read(file: string): Map<string, SiteRuns> {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return new Map();
  const known = runsIn(new TextDecoder().decode(readWholeFile(file)));
  if (known === undefined) throw new UserError(`${file}: not a file that --learn has written`);
  return known;
}

function runsIn(text: string): Map<string, SiteRuns> | undefined {
  const [format, ...lines] = text.split("\n");
  if (format !== FORMAT || lines.pop() !== "") return undefined;
  const known = new Map<string, SiteRuns>();
  let offsets: number[] | undefined;
  let runs: number[] = [];
  let offset = 0;
  for (const line of lines) {
    const digest = MODULE.exec(line)?.[1];
    if (digest !== undefined) {
      offsets = [];
      runs = [];
      offset = 0;
      known.set(digest, { offsets, runs });
      continue;
    }
    const [, distance, count] = SITE.exec(line) ?? [];
    if (distance === undefined || offsets === undefined) return undefined;
    offset += Number(distance);
    offsets.push(offset);
    runs.push(Number(count));
  }
  return known;
}

function textOf(known: ReadonlyMap<string, SiteRuns>): string {
  const lines = [FORMAT];
  for (const [digest, { offsets, runs }] of known) {
    lines.push(`module ${digest}`);
    offsets.forEach((offset, i) => {
      lines.push(`${offset - (offsets[i - 1] ?? 0)} ${runs[i]}`);
    });
  }
  return `${lines.join("\n")}\n`;
}
