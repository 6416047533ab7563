import type { MibField } from "../../mib-fields.ts";
import { Column } from "../column.ts";
import type { FrameTable } from "../frame-table.ts";
import type { DataAccessProfile, MemprofProfile } from "../profile.ts";
import { SlotTable, type StackChains } from "../stack-chains.ts";
import type { BlockMerge } from "./block-merge.ts";
import type { CallSiteSet } from "./call-site-set.ts";

/** Maps small integer keys to rows from 0, in the order of their first use. */
export class RowIndex {
  readonly #keys = new Column();
  readonly #slots = new SlotTable();
  #count = 0;

  get length(): number {
    return this.#count;
  }

  keyOf(row: number): number {
    return this.#keys.get(row);
  }

  /** Returns the row of a key; `length` grows by one if the key is new. */
  rowOf(key: number): number {
    const slots = this.#slots;
    const keys = this.#keys;
    const hash = hashOf(key);
    let slot = slots.first(hash);
    for (let found = slots.get(slot); found !== 0; found = slots.get(slot)) {
      if (slots.mayHave(found, hash) && keys.get(slots.numberIn(found) - 1) === key)
        return slots.numberIn(found) - 1;
      slot = slots.next(slot);
    }
    keys.set(this.#count++, key);
    if (slots.fill(slot, this.#count, hash)) {
      slots.enlarge();
      for (let row = 0; row < this.#count; row++) slots.add(hashOf(keys.get(row)), row + 1);
    }
    return this.#count - 1;
  }

  release(): void {
    this.#slots.release();
    this.#keys.release();
    this.#count = 0;
  }

  /** Releases the lookup table; afterwards only `keyOf` works. */
  seal(): void {
    this.#slots.release();
  }
}

function hashOf(key: number): number {
  const hash = Math.imul(key ^ (key >>> 15), 0x9e3779b1);
  return hash ^ (hash >>> 16);
}

export interface MergeTables {
  readonly frames: FrameTable;
  readonly stacks: StackChains;
  readonly contexts: RowIndex;
  readonly blocks: BlockMerge;
  readonly callSites: CallSiteSet;
  readonly histograms: Map<number, BigUint64Array>;
  /** Functions whose records have a context although they are not in its innermost inline chain, by row. */
  readonly otherFunctions: Map<number, Set<bigint>>;
  readonly dataAccess: DataAccessProfile | undefined;
  /** True if frames in modules without debug information are kept, as module offsets. */
  readonly keepsUnresolved: boolean;
  /** Requested fields that every input so far has. */
  readonly knownFields: readonly MibField[];
  addHistogram(row: number, histogram: BigUint64Array): void;
}

/** Merged profile, with the data that another merger needs to continue. */
export interface MergedProfile {
  readonly profile: MemprofProfile;
  /** Number of the input that a block's timestamps and CPU numbers come from, by block. */
  readonly lastInput: Float64Array;
}
