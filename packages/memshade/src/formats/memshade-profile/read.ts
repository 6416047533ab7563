import type { MemprofBlocks, MemprofProfile } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { ChunkedProfile } from "./chunked-profile.ts";
import { CompactStoredProfile } from "./compact-stored-profile.ts";
import { readDirectory } from "./directory.ts";
import { CHUNK, type Deflate, PACKING } from "./layout.ts";
import { pakoDeflate } from "./pako-deflate.ts";
import { joinBlocks } from "./record-columns.ts";
import type { FunctionRecord, StoredProfile } from "./stored-profile.ts";
import type { ProfileOrigin } from "./write.ts";

export { isMemshadeProfile } from "./directory.ts";
export type { FunctionRecord } from "./stored-profile.ts";

/** A memshade profile. Of large ones, records and blocks are unpacked when they are asked for. */
export class MemshadeProfile implements StoredProfile {
  private readonly stored: StoredProfile;

  /** @throws FormatError of kind bad-magic, unsupported-version or malformed */
  constructor(bytes: Uint8Array, deflate: Deflate = pakoDeflate) {
    const chunks = readDirectory(bytes);
    const whole = chunks.find(({ kind, packing }) => kind === CHUNK.whole && packing === PACKING.symbols);
    this.stored = whole === undefined ? new ChunkedProfile(chunks, deflate) : new CompactStoredProfile(whole);
  }

  get origin(): ProfileOrigin {
    return this.stored.origin;
  }

  /** GUIDs of the functions that have a record, ascending. */
  get functions(): readonly bigint[] {
    return this.stored.functions;
  }

  get frames(): MemprofProfile["frames"] {
    return this.stored.frames;
  }

  get stacks(): MemprofProfile["stacks"] {
    return this.stored.stacks;
  }

  /** Number of contexts, and of their blocks. */
  get contexts(): number {
    return this.stored.contexts;
  }

  /** Fields of the blocks that this reader knows. */
  get fields(): readonly MibField[] {
    return this.stored.fields;
  }

  /** The record of one function. Of a large profile it unpacks the chunk that it stands in, and no other. */
  record(guid: bigint): FunctionRecord | undefined {
    return this.stored.record(guid);
  }

  /** Everything. */
  whole(): MemprofProfile {
    const { contexts, fields } = this;
    return { ...this.outline(), blocks: joinBlocks(contexts, fields, this.blocks()) };
  }

  /** Everything but the blocks. */
  outline(): Omit<MemprofProfile, "blocks"> {
    return this.stored.outline();
  }

  /** The blocks in order, some thousand at a time. */
  blocks(): Iterable<MemprofBlocks> {
    return this.stored.blocks();
  }
}
