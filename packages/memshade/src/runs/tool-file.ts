import fs from "node:fs";
import path from "node:path";
import type { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import type { Demangle } from "../names/symbolize/demangle.ts";
import type { Run, RunModule } from "../profile/model/run.ts";
import { runOf } from "./run-of-folder.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import type { OwnCode } from "./suppressions.ts";

/** Largest size of a file that the recorder writes. */
const LARGEST_FILE_BYTES = 1 << 29;

interface ToolFileKind<Profile> {
  /** Name of the tool, which is its key in `files` of `run.json`, and the file's name in a run's folder. */
  tool: keyof Run["files"];
  name: string;
  /** Contents of the file, for the message that a run does not have them. */
  contents: string;
  read(text: string): Profile;
  readable(profile: Profile, demangle: Demangle): Profile;
  /** Names places of native code. The file has their numbers in the run. */
  nameSites?(profile: Profile, run: Run, places: OriginalPlaces): void;
  mark(profile: Profile, rules: FrameRules, modules: readonly RunModule[] | undefined): void;
}

/** A tool's file of a run, given by the run's directory, its `run.json`, or its own path. */
export class ToolFile<Profile extends { notTracked: string[] }> {
  readonly #kind: ToolFileKind<Profile>;

  constructor(kind: ToolFileKind<Profile>) {
    this.#kind = kind;
  }

  /** True if the file exists, or the run lists it. */
  isIn(input: string): boolean {
    const file = this.#fileOf(input);
    return path.basename(file) === this.#kind.name && (fs.existsSync(file) || this.#isAnnounced(file));
  }

  /** @throws UserError in one line if it does not exist, was not recorded, or is damaged */
  load(input: string, { rules, ...places }: OwnCode & OriginalPlaces = {}): Profile {
    const { tool, name, contents, read, readable, mark } = this.#kind;
    const file = this.#fileOf(input);
    if (!fs.existsSync(file)) {
      if (!fs.existsSync(input)) throw new UserError(`${input}: there is no such file or directory`);
      throw new UserError(
        this.#isAnnounced(file)
          ? `${input} is incomplete: ${name} is missing`
          : `${input} has no ${contents}: it was recorded without --tool ${tool}`,
      );
    }
    if (fs.statSync(file).size > LARGEST_FILE_BYTES) throw new UserError(`${file} is too large`);
    try {
      const profile = readable(read(readRegular(file).toString()), loadDemangler());
      const run = file === input ? undefined : runOf(path.dirname(file));
      profile.notTracked.push(...(run?.notTracked ?? []));
      if (run !== undefined) this.#kind.nameSites?.(profile, run, places);
      if (rules !== undefined) mark(profile, rules, run?.modules);
      return profile;
    } catch (error) {
      if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
      throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
    }
  }

  /** True if the run around the file was recorded with the tool. */
  #isAnnounced(file: string): boolean {
    const folder = path.dirname(file);
    return fs.existsSync(folder) && runOf(folder)?.files[this.#kind.tool] !== undefined;
  }

  #fileOf(input: string): string {
    const status = fs.statSync(input, { throwIfNoEntry: false });
    if (status?.isDirectory()) return path.join(input, this.#kind.name);
    return path.basename(input) === "run.json" ? path.join(path.dirname(input), this.#kind.name) : input;
  }
}
