import { readFileSync } from "node:fs";
import { FormatError, UserError } from "../../bytes/errors.ts";
import { RawAdder } from "../../formats/memprof/index.ts";
import { isIndexedProfile, readIndexed } from "../../formats/memprof-indexed/index.ts";
import { isMemprofRaw, type RawScan, scanRaw } from "../../formats/memprof-raw/index.ts";
import { isMemprofYaml, readMemprofYaml } from "../../formats/memprof-text/index.ts";
import {
  isMemshadeProfile,
  MemshadeProfile,
  type ProfileOrigin,
} from "../../formats/memshade-profile/index.ts";
import { type MergedProfile, ProfileMerger, type UnresolvedPlace } from "../../model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { type BinaryPlaces, noFrameNamed, ProfiledBinaries } from "./binaries.ts";
import type { MergeInput } from "./inputs.ts";
import { nodeDeflate } from "./node-deflate.ts";

/** What is kept of the inputs. */
export interface MergeFields {
  readonly fields: readonly MibField[];
  /** Names, files and lines too. */
  readonly keepsSources: boolean;
  /** Frames in modules without a binary too, as places in these. */
  readonly keepsUnresolved?: boolean | undefined;
}

/** A part of a merge: a profile, and where it comes from. */
export interface MergedPart extends MergedProfile {
  readonly origin: ProfileOrigin;
  /** Contexts of raw profiles no frame of which could be named. */
  readonly dropped: number;
}

/** Reads profiles one by one into a merger. */
export class InputMerger {
  private readonly what: MergeFields;
  private readonly binaries: ProfiledBinaries;
  private merger: ProfileMerger;
  private adder: RawAdder;
  private inputs = 0;
  private dropped = 0;
  private matched = new Map<string, string>();
  private unmatched = new Set<string>();

  constructor(places: BinaryPlaces, what: MergeFields) {
    this.what = what;
    this.binaries = new ProfiledBinaries(places);
    this.merger = new ProfileMerger(what.fields, what.keepsSources, what.keepsUnresolved);
    this.adder = new RawAdder(this.merger, what.keepsSources);
  }

  /** Memory that what was merged takes, roughly. */
  get sizeBytes(): number {
    const { stacks, contexts } = this.merger;
    return stacks.length * 16 + contexts.length * (this.what.fields.length * 6 + 16);
  }

  /**
   * Adds one profile.
   *
   * @param number of the input, in the order of all
   * @throws UserError naming the file, if it cannot be read or is damaged; then nothing of it was added
   */
  add(input: MergeInput, number: number): void {
    const { path } = input;
    try {
      const bytes = readFileSync(path);
      if (isMemprofRaw(bytes)) this.addRaw(input, scanRaw(bytes), number);
      else if (isIndexedProfile(bytes)) this.addProfile(readIndexed(bytes).profile, number);
      else if (isMemshadeProfile(bytes)) this.addMemshade(new MemshadeProfile(bytes, nodeDeflate), number);
      else if (isMemprofYaml(bytes)) this.addProfile(readMemprofYaml(bytes), number);
      else {
        throw new UserError(
          `not a MemProf profile, raw, indexed, YAML or memshade${bytes.length === 0 ? ": it is empty" : ""}`,
        );
      }
    } catch (error) {
      if (error instanceof FormatError) throw new UserError(`${path} is damaged: ${error.message}`);
      if (error instanceof UserError) throw new UserError(`${path}: ${error.message}`);
      if ((error as NodeJS.ErrnoException).code !== undefined) {
        throw new UserError(`${path} cannot be read: ${(error as Error).message}`);
      }
      throw error;
    }
  }

  /** Adds what another merger has built. */
  addPart({ profile, lastInput, origin, dropped }: MergedPart): void {
    // What comes from another thread is a copy, of the fields' descriptions too.
    const tags = profile.blocks.fields.map(({ tag }) => tag);
    const fields = MIB_FIELDS.filter(({ tag }) => tags.includes(tag));
    const known = { ...profile, blocks: { ...profile.blocks, fields } };
    this.merger.addProfile(known, 0, lastInput.length === 0 ? undefined : lastInput);
    this.noteOrigin(origin);
    this.dropped += dropped;
  }

  /** What was merged since the last call. */
  take(): MergedPart {
    const merged = this.merger.build();
    const part = {
      ...merged,
      dropped: this.dropped,
      origin: {
        inputs: this.inputs,
        binaries: Array.from(this.matched, ([buildId, name]) => ({ buildId, name })),
        unmatched: [...this.unmatched].filter((buildId) => !this.matched.has(buildId)).sort(),
      },
    };
    this.merger = new ProfileMerger(this.what.fields, this.what.keepsSources, this.what.keepsUnresolved);
    this.adder = new RawAdder(this.merger, this.what.keepsSources);
    this.inputs = 0;
    this.dropped = 0;
    this.matched = new Map();
    this.unmatched = new Set();
    return part;
  }

  private addProfile(profile: MergedProfile["profile"], number: number): void {
    this.merger.addProfile(profile, number);
    this.inputs++;
  }

  private addMemshade(file: MemshadeProfile, number: number): void {
    const { binaries, unmatched } = file.origin;
    // What earlier merges had no binary for may be found now.
    const found = unmatched.flatMap((buildId) => {
      const name = this.binaries.nameOf(buildId);
      return name === undefined ? [] : [{ buildId, name }];
    });
    const resolve = found.length === 0 ? undefined : (place: UnresolvedPlace) => this.binaries.resolve(place);
    this.dropped += this.merger.addProfile(file.whole(), number, undefined, resolve);
    this.noteOrigin({ ...file.origin, binaries: [...binaries, ...found] });
  }

  private addRaw({ modules }: MergeInput, scan: RawScan, number: number): void {
    for (const { path, buildId } of modules) this.binaries.add(path, buildId);
    const match = this.binaries.match(scan.segments);
    if (match.modules.length === 0 && scan.length > 0) {
      throw new UserError(
        `there is no binary for any of its modules: give --binary or --search (build ids: ${match.unmatched.join(" ")})`,
      );
    }
    const places = this.what.keepsUnresolved ? match.unresolved : [];
    const { contexts, dropped, unnamed } = this.adder.add(scan, [...match.modules, ...places], number);
    if (contexts > 0 && unnamed === contexts) {
      throw new UserError(noFrameNamed(match.matched));
    }
    this.dropped += dropped;
    this.noteOrigin({ inputs: 1, binaries: match.matched, unmatched: match.unmatched });
  }

  private noteOrigin({ inputs, binaries, unmatched }: ProfileOrigin): void {
    this.inputs += inputs;
    for (const { buildId, name } of binaries) this.matched.set(buildId, name);
    for (const buildId of unmatched) this.unmatched.add(buildId);
  }
}
