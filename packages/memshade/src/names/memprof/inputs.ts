import { closeSync, type Dirent, existsSync, readdirSync, readSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { isIndexedProfile } from "../../profile/formats/memprof-indexed/index.ts";
import { isMemprofRaw } from "../../profile/formats/memprof-raw/index.ts";
import { isMemprofYaml } from "../../profile/formats/memprof-text/index.ts";
import { isMemshadeProfile } from "../../profile/formats/memshade-profile/index.ts";
import { readRun } from "../../profile/model/read-run.ts";
import { RUN_FILE } from "../../profile/model/run.ts";
import { openRegular, readInput, readRegular } from "../load/file.ts";

const HEAP_FILE = "heap.memprofraw";

export interface MergeInput {
  readonly path: string;
  /** Content of a pipe, which can be read only once. */
  readonly bytes?: Uint8Array;
  /** Modules named in the run file beside it, by build id. */
  readonly modules: readonly { readonly buildId: string; readonly path: string }[];
  /** Set if the run was recorded without the heap, so that the file does not exist. */
  readonly isMissing?: true;
  /** True if lifetimes are counted by a run's virtual clock instead of milliseconds. */
  readonly hasVirtualClock?: boolean;
}

/**
 * Expands the arguments to profiles: files, run folders, all profiles below other folders, and the lines of
 * response files (`@file`).
 *
 * @param skip receives a message for each input that does not exist, cannot be read, or is a folder without a
 * profile
 * @throws UserError for such inputs without `skip`, and for response files that cannot be read
 */
export function expandInputs(args: readonly string[], skip?: (message: string) => void): MergeInput[] {
  return new InputExpansion(skip).expand(args);
}

/**
 * Returns the input with its content, if it is a pipe.
 *
 * @throws errors of the file system
 */
export function withContentOfPipe(input: MergeInput): MergeInput {
  const isPipe = statSync(input.path, { throwIfNoEntry: false })?.isFIFO() === true;
  return isPipe ? { ...input, bytes: readInput(input.path) } : input;
}

class InputExpansion {
  readonly #skip: ((message: string) => void) | undefined;
  readonly #open: string[] = [];

  constructor(skip: ((message: string) => void) | undefined) {
    this.#skip = skip;
  }

  expand(args: readonly string[]): MergeInput[] {
    return args.flatMap((argument) =>
      argument.startsWith("@")
        ? this.#expandResponseFile(argument.slice(1))
        : this.#orSkipped(argument, () => this.#expandOne(argument)),
    );
  }

  #expandOne(path: string): MergeInput[] {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) throw new UserError(`${path}: there is no such file or folder`);
    if (!status.isDirectory()) return [inputOf(path)];
    const found = this.#profilesBelow(path);
    if (found.length === 0) throw new UserError(`${path}: there is no profile in this folder`);
    return found;
  }

  #expandResponseFile(file: string): MergeInput[] {
    const path = resolve(file);
    if (this.#open.includes(path))
      throw new UserError(`@${file} names itself, directly or through another file`);
    this.#open.push(path);
    const found = this.expand(readResponseFile(file));
    this.#open.pop();
    return found;
  }

  #profilesBelow(folder: string): MergeInput[] {
    if (existsSync(join(folder, RUN_FILE))) return [inputOfRun(folder)];
    return readdirSync(folder, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const path = join(folder, entry.name);
        return this.#orSkipped(path, () => {
          if (entry.isDirectory()) return this.#profilesBelow(path);
          if (entry.name.startsWith(".") || !isFile(entry, path)) return [];
          return looksLikeProfile(path) ? [inputOf(path)] : [];
        });
      });
  }

  #orSkipped(path: string, expand: () => MergeInput[]): MergeInput[] {
    try {
      return expand();
    } catch (error) {
      const isSystems = (error as NodeJS.ErrnoException).code !== undefined;
      if (!isSystems && !(error instanceof UserError)) throw error;
      const message =
        error instanceof UserError ? error.message : `${path} cannot be read: ${describeSystemError(error)}`;
      if (this.#skip === undefined) throw new UserError(message);
      this.#skip(message);
      return [];
    }
  }
}

/** Links to files count as files. Links to folders are not followed, since they may form a cycle. */
function isFile(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile();
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function readResponseFile(file: string): string[] {
  let text: string;
  try {
    text = readInput(file).toString();
  } catch (error) {
    throw new UserError(`@${file} cannot be read: ${describeSystemError(error)}`);
  }
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function inputOfRun(folder: string): MergeInput {
  const { files, tools } = readRunFile(folder);
  const path = join(folder, files.heap ?? HEAP_FILE);
  return tools.heap === undefined && !existsSync(path)
    ? { path, modules: [], isMissing: true }
    : inputOf(path);
}

function readRunFile(folder: string) {
  const file = join(folder, RUN_FILE);
  try {
    return readRun(readRegular(file).toString());
  } catch (error) {
    throw new UserError(`${file}: ${(error as Error).message}`);
  }
}

/** Returns the profile file, with the modules of the run.json beside it if that describes it. */
function inputOf(path: string): MergeInput {
  const folder = dirname(path);
  if (!existsSync(join(folder, RUN_FILE))) return { path, modules: [] };
  const run = readRunFile(folder);
  if (resolve(folder, run.files.heap ?? HEAP_FILE) !== resolve(path)) return { path, modules: [] };
  const modules = run.modules.flatMap(({ buildId, path: file }) =>
    typeof file === "string" && existsSync(file) ? [{ buildId, path: file }] : [],
  );
  return { path, modules, hasVirtualClock: run.tools.heap?.clock.kind === "virtual" };
}

function looksLikeProfile(path: string): boolean {
  const start = new Uint8Array(8);
  const file = openRegular(path);
  try {
    readSync(file, start);
  } finally {
    closeSync(file);
  }
  return (
    isMemprofRaw(start) ||
    isIndexedProfile(start) ||
    isMemshadeProfile(start) ||
    (isMemprofYaml(start) && /(?<!\.raw)\.ya?ml$/.test(path))
  );
}
