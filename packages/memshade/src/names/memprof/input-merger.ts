import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import type { ByteSource } from "../../ground/bytes/byte-source.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { RawAdder } from "../../profile/formats/memprof/index.ts";
import { addIndexed, isIndexedProfile } from "../../profile/formats/memprof-indexed/index.ts";
import { isMemprofRaw, type RawScan, scanRaw } from "../../profile/formats/memprof-raw/index.ts";
import { isMemprofYaml, readFastYaml } from "../../profile/formats/memprof-text/fast-yaml.ts";
import {
  type Deflate,
  isMemshadeProfile,
  MemshadeProfile,
  type ProfileOrigin,
} from "../../profile/formats/memshade-profile/index.ts";
import {
  type CreateSpillFile,
  type MergedProfile,
  ProfileMerger,
  SpilledRuns,
  type UnresolvedPlace,
} from "../../profile/model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../profile/model/mib-fields.ts";
import { type BinaryPlaces, noBinary, noFrameNamed, ProfiledBinaries } from "./binaries.ts";
import { explained, InputReader, loadYamlReader, MAGIC_BYTES, wholeSource } from "./input-reader.ts";
import type { MergeInput } from "./inputs.ts";

/** Maximum distance of a back reference in packed data. */
const WINDOW_BYTES = 1 << 15;

/** Node's own compression, much faster than the portable one. */
export const nodeDeflate: Deflate = {
  *pack(pieces) {
    let last = new Uint8Array(0);
    let before = new Uint8Array(0);
    const packed = (finishFlush: number) =>
      deflateRawSync(last, {
        level: 9,
        finishFlush,
        ...(before.length === 0 ? {} : { dictionary: before }),
      });
    // Each piece is packed with the end of the previous one as its dictionary, so that all form one stream.
    for (const piece of pieces) {
      if (last.length > 0) {
        yield packed(constants.Z_SYNC_FLUSH);
        before = last.slice(-WINDOW_BYTES);
      }
      last = piece.slice();
    }
    yield packed(constants.Z_FINISH);
  },
  unpack: (bytes, sizeBytes) => {
    const plain = inflateRawSync(bytes, { maxOutputLength: Math.max(1, sizeBytes) });
    if (plain.length !== sizeBytes) throw new RangeError("not of the announced size");
    return plain;
  },
};

/** Parts of the inputs that are kept. */
export interface MergeFields {
  readonly fields: readonly MibField[];
  readonly keepsSources: boolean;
  /** Keeps frames in modules without a binary, as offsets in the module. */
  readonly keepsUnresolved?: boolean | undefined;
  /** Creates the file for merged data that has become large; without it, all data stays in memory. */
  readonly spill?: CreateSpillFile | undefined;
  readonly spillBytes?: number | undefined;
}

export interface MergedPart extends MergedProfile {
  readonly origin: ProfileOrigin;
  /** Contexts of raw profiles in which no frame has a name. */
  readonly dropped: number;
}

export interface MergedTables {
  readonly merger: ProfileMerger;
  readonly runs: SpilledRuns | undefined;
  readonly origin: ProfileOrigin;
  readonly dropped: number;
}

/** Table size from which on tables are spilled: a minimum, and a share per context spilled before. */
const SPILL_BYTES = 12 << 20;
const SPILL_BYTES_PER_CONTEXT = 16;

export class InputMerger {
  readonly #options: MergeFields;
  readonly #binaries: ProfiledBinaries;
  readonly #reader = new InputReader();
  #merger: ProfileMerger;
  #adder: RawAdder;
  #runs: SpilledRuns | undefined;
  #inputs = 0;
  #dropped = 0;
  #offered = 0;
  #matched = new Map<string, string>();
  #unmatched = new Set<string>();

  constructor(places: BinaryPlaces, options: MergeFields) {
    this.#options = options;
    this.#binaries = new ProfiledBinaries(places);
    this.#merger = new ProfileMerger(options.fields, options.keepsSources, options.keepsUnresolved);
    this.#adder = new RawAdder(this.#merger, options.keepsSources);
    this.#runs = options.spill && new SpilledRuns(options.spill);
  }

  /** Number of contexts in the merged raw profiles, and of distinct ones. */
  get contexts(): { readonly offered: number; readonly added: number } {
    return { offered: this.#offered, added: this.#merger.contexts.length + (this.#runs?.contexts ?? 0) };
  }

  get sizeBytes(): number {
    const { stacks, contexts } = this.#merger;
    return stacks.length * 5 + contexts.length * (this.#options.fields.length * 3 + 20);
  }

  /**
   * Adds one profile.
   *
   * @param number of the input, in the order of all
   * @throws UserError naming the file, if it cannot be read or is damaged; nothing of it was added then
   */
  async add(input: MergeInput, number: number): Promise<void> {
    const { path } = input;
    const yaml = explained(path, () =>
      this.#reader.open(input, (source) => this.#addSource(input, source, number)),
    );
    if (yaml !== undefined) {
      const readYaml = await loadYamlReader();
      explained(path, () => this.#addProfile(readYaml(yaml), number));
    }
    this.#spillIfLarge();
  }

  /** @returns the bytes of a profile in YAML, which the caller must add */
  #addSource(input: MergeInput, source: ByteSource, number: number): Uint8Array | undefined {
    const start = source.read(0, MAGIC_BYTES);
    if (isMemprofRaw(start)) this.#addRaw(input, scanRaw(source), number);
    else if (isIndexedProfile(start)) {
      addIndexed(source, this.#merger, number);
      this.#inputs++;
    } else if (isMemshadeProfile(start)) {
      this.#addMemshade(new MemshadeProfile(wholeSource(source), nodeDeflate), number);
    } else if (isMemprofYaml(start)) {
      const profile = readFastYaml(source);
      if (profile === undefined) return wholeSource(source);
      this.#addProfile(profile, number);
    } else {
      const isEmpty = source.size === 0 ? ": it is empty" : "";
      throw new UserError(`not a MemProf profile, raw, indexed, YAML or memshade${isEmpty}`);
    }
    return undefined;
  }

  addPart({ profile, lastInput, origin, dropped }: MergedPart): void {
    // Data of another thread is a copy, including the descriptions of the fields.
    const tags = profile.blocks.fields.map(({ tag }) => tag);
    const fields = MIB_FIELDS.filter(({ tag }) => tags.includes(tag));
    const localProfile = { ...profile, blocks: { ...profile.blocks, fields } };
    this.#merger.addProfile(localProfile, 0, lastInput.length === 0 ? undefined : lastInput);
    this.#noteOrigin(origin);
    this.#dropped += dropped;
    this.#spillIfLarge();
  }

  release(): void {
    this.#runs?.release();
  }

  /** Returns the data merged since the last call. */
  take(): MergedPart {
    const { merger, runs: _, ...rest } = this.drain();
    return { ...merger.build(), ...rest };
  }

  /** Returns the same data like `take`, but unsorted. */
  drain(): MergedTables {
    const drained = {
      merger: this.#merger,
      runs: this.#runs,
      dropped: this.#dropped,
      origin: {
        inputs: this.#inputs,
        binaries: Array.from(this.#matched, ([buildId, name]) => ({ buildId, name })),
        unmatched: [...this.#unmatched].filter((buildId) => !this.#matched.has(buildId)).sort(),
      },
    };
    this.#merger = new ProfileMerger(
      this.#options.fields,
      this.#options.keepsSources,
      this.#options.keepsUnresolved,
    );
    this.#adder = new RawAdder(this.#merger, this.#options.keepsSources);
    this.#runs = this.#options.spill && new SpilledRuns(this.#options.spill);
    this.#inputs = 0;
    this.#dropped = 0;
    this.#matched = new Map();
    this.#unmatched = new Set();
    return drained;
  }

  /**
   * Spills the tables if they are large, but not small relative to the spilled data, so that no input is rewritten
   * many times.
   */
  #spillIfLarge(): void {
    const runs = this.#runs;
    if (runs === undefined) return;
    const { spillBytes = SPILL_BYTES } = this.#options;
    if (this.sizeBytes < Math.max(spillBytes, runs.leastContexts * SPILL_BYTES_PER_CONTEXT)) return;
    this.#merger = runs.spill(this.#merger);
    this.#adder.moveTo(this.#merger);
  }

  #addProfile(profile: MergedProfile["profile"], number: number): void {
    this.#merger.addProfile(profile, number);
    this.#inputs++;
  }

  #addMemshade(file: MemshadeProfile, number: number): void {
    const { binaries, unmatched } = file.origin;
    // Binaries that earlier merges lacked may be available now.
    const found = unmatched.flatMap((buildId) => {
      const name = this.#binaries.nameOf(buildId);
      return name === undefined ? [] : [{ buildId, name }];
    });
    const resolve =
      found.length === 0 ? undefined : (place: UnresolvedPlace) => this.#binaries.resolve(place);
    // The whole file is read once before anything is added, so that nothing of a damaged file is added.
    const outline = file.outline();
    for (const _ of file.blocks());
    const blocks = { length: file.contexts, fields: file.fields, pieces: file.blocks() };
    this.#dropped += this.#merger.addPieces(outline, blocks, number, undefined, resolve);
    this.#noteOrigin({ ...file.origin, binaries: [...binaries, ...found] });
  }

  #addRaw({ modules }: MergeInput, scan: RawScan, number: number): void {
    for (const { path, buildId } of modules) this.#binaries.add(path, buildId);
    const match = this.#binaries.match(scan.segments);
    if (match.modules.length === 0 && scan.length > 0)
      throw new UserError(noBinary(match.unmatched, this.#binaries));
    const places = this.#options.keepsUnresolved ? match.unresolved : [];
    const { contexts, dropped, unnamed } = this.#adder.add(scan, [...match.modules, ...places], number);
    if (contexts > 0 && unnamed === contexts) throw new UserError(noFrameNamed(match.matched));
    this.#dropped += dropped;
    this.#offered += contexts;
    this.#noteOrigin({ inputs: 1, binaries: match.matched, unmatched: match.unmatched });
  }

  #noteOrigin({ inputs, binaries, unmatched }: ProfileOrigin): void {
    this.#inputs += inputs;
    for (const { buildId, name } of binaries) this.#matched.set(buildId, name);
    for (const buildId of unmatched) this.#unmatched.add(buildId);
  }
}
