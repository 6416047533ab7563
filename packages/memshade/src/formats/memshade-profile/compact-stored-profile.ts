import { partitionPoint } from "../../bytes/partition-point.ts";
import type { MemprofBlocks, MemprofProfile } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { profileOf, unpackProfile } from "./compact/index.ts";
import type { Chunk } from "./directory.ts";
import type { FunctionRecord, StoredProfile } from "./stored-profile.ts";
import type { ProfileOrigin } from "./write.ts";

/** A profile that stands in one chunk, unpacked whole. */
export class CompactStoredProfile implements StoredProfile {
  readonly origin: ProfileOrigin;
  private readonly profile: MemprofProfile;

  /** @throws FormatError of kind malformed */
  constructor({ bytes, plainBytes, offset }: Chunk) {
    const compact = unpackProfile(bytes, plainBytes, offset);
    this.origin = compact.origin;
    this.profile = profileOf(compact);
  }

  get functions(): bigint[] {
    return [...this.profile.records.guid];
  }

  get frames(): MemprofProfile["frames"] {
    return this.profile.frames;
  }

  get stacks(): MemprofProfile["stacks"] {
    return this.profile.stacks;
  }

  get contexts(): number {
    return this.profile.blocks.length;
  }

  get fields(): readonly MibField[] {
    return this.profile.blocks.fields;
  }

  record(wanted: bigint): FunctionRecord | undefined {
    const { guid, length, allocStart, allocStack, allocBlock, callStart, callStack } = this.profile.records;
    const row = partitionPoint(0, length, (index) => guid[index]! < wanted);
    if (row === length || guid[row] !== wanted) return undefined;
    const sitesOf = <T>(start: Uint32Array, make: (site: number) => T): T[] =>
      Array.from({ length: start[row + 1]! - start[row]! }, (_, index) => make(start[row]! + index));
    return {
      guid: wanted,
      allocSites: sitesOf(allocStart, (site) => ({ stack: allocStack[site]!, block: allocBlock[site]! })),
      callSites: sitesOf(callStart, (site) => ({ stack: callStack[site]!, callees: [] })),
    };
  }

  outline(): Omit<MemprofProfile, "blocks"> {
    const { blocks: _, ...outline } = this.profile;
    return outline;
  }

  *blocks(): Generator<MemprofBlocks, void, undefined> {
    if (this.contexts > 0) yield this.profile.blocks;
  }
}
