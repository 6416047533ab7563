import type { MibField } from "../../mib-fields.ts";
import { Column } from "../column.ts";
import type { FrameTable } from "../frame-table.ts";
import type { DataAccessProfile, MemprofProfile } from "../profile.ts";
import { SlotTable, type StackChains } from "../stack-chains.ts";
import type { BlockMerge } from "./block-merge.ts";
import type { CallSiteSet } from "./call-site-set.ts";

/** Numbers from 0 for keys that are small integers, in the order of their first use. */
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

  /** The row of a key; `length` grows by one if it is new. */
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

  /** Gives everything back. */
  release(): void {
    this.#slots.release();
    this.#keys.release();
    this.#count = 0;
  }

  /** Gives the table back that rows are found with: only `keyOf` works from now on. */
  seal(): void {
    this.#slots.release();
  }
}

function hashOf(key: number): number {
  const hash = Math.imul(key ^ (key >>> 15), 0x9e3779b1);
  return hash ^ (hash >>> 16);
}

/** The tables that a merger collects into. */
export interface MergeTables {
  readonly frames: FrameTable;
  readonly stacks: StackChains;
  readonly contexts: RowIndex;
  readonly blocks: BlockMerge;
  readonly callSites: CallSiteSet;
  readonly histograms: Map<number, BigUint64Array>;
  /** Functions that a context is recorded in, where they are not those of its innermost inline chain. */
  readonly otherFunctions: Map<number, Set<bigint>>;
  readonly dataAccess: DataAccessProfile | undefined;
  /** Whether frames in modules without debug information stay, as places of these. */
  readonly keepsUnresolved: boolean;
  /** The wanted fields that every input so far has. */
  readonly knownFields: readonly MibField[];
  addHistogram(row: number, histogram: BigUint64Array): void;
}

/** What a merger has collected, with what another one needs to go on from there. */
export interface MergedProfile {
  readonly profile: MemprofProfile;
  /** By block: the number of the input that its timestamps and CPU numbers come from. */
  readonly lastInput: Float64Array;
}
