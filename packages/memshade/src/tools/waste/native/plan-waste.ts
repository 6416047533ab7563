import type { BlockView, Insertion, PlanBlock } from "../../../native/rewrite/emit.ts";
import { type Code, TRAIT } from "../../../native/rewrite/code.ts";
import { decode, FLAGS, Instruction } from "../../../x64/decode/index.ts";
import { type Access, accessCode, blockCode } from "./access-code.ts";
import { type AccessKind, accessOf, comparisonOf, hasFramePointer, isMasked, type Unfollowed } from "./accesses.ts";
import { commonCode } from "./common-code.ts";
import { ARENA, BLOCK_SLOTS, LOAD_SLOTS, SLOT_BYTES, SLOTS_END, STORE_SLOTS } from "./layout.ts";

/** An access of a file, and where its figures are. */
export interface NativeSite {
  kind: AccessKind;
  /** Address (SVMA) of its instruction. */
  address: number;
  bytes: number;
  /** Addresses of its slots; 0: it has none. */
  loadSlot: number;
  storeSlot: number;
  /** Address of the slot with the runs of its block. */
  blockSlot: number;
}

/** What a file's plan has come to. */
export interface WasteSites {
  sites: NativeSite[];
  /** Its slots: `[from, to)`. */
  from: number;
  to: number;
  unfollowed: Unfollowed;
  /** Accesses for which there were no slots left. */
  unplaced: number;
}

/** The tool for one file, whose slots begin at an address. */
export class WastePlan {
  readonly plan: PlanBlock;
  readonly #common = commonCode();
  readonly #sites: NativeSite[] = [];
  readonly #from: number;
  readonly #to: number;
  readonly #unfollowed: Unfollowed = { stack: 0, thread: 0, unusual: 0 };
  #unplaced = 0;
  #next: number;
  #code: Code | undefined;
  #function = -1;
  #hasFramePointer = false;

  /** Where its slots may be: addresses. */
  constructor({ from, to }: { from: number; to: number } = { from: ARENA, to: SLOTS_END }) {
    this.#from = from;
    this.#to = to;
    this.#next = from;
    this.plan = Object.assign((block: BlockView) => this.#planBlock(block), { common: this.#common.bytes });
  }

  /** Of what was planned so far. */
  get sites(): WasteSites {
    return {
      sites: this.#sites,
      from: this.#from,
      to: this.#next,
      unfollowed: this.#unfollowed,
      unplaced: this.#unplaced,
    };
  }

  #planBlock({ code, first, last, live }: BlockView): Insertion[] {
    const found: { i: number; kind: AccessKind; instruction: Instruction }[] = [];
    let instruction = new Instruction();
    for (let i = first; i < last; i++) {
      if ((code.traits[i] & TRAIT.access) === 0) continue;
      decode(code.bytes, code.offsets[i], instruction);
      const kind = accessOf(instruction, this.#isFramed(code, i), this.#unfollowed);
      if (kind === undefined) continue;
      if (kind !== "load" && isMasked(instruction, bytesOf(code, i))) {
        this.#unfollowed.unusual++;
        continue;
      }
      found.push({ i, kind, instruction });
      instruction = new Instruction();
    }
    if (found.length === 0) return [];
    const stores = found.filter(({ kind }) => kind === "store" || kind === "update").length;
    const slots = BLOCK_SLOTS + STORE_SLOTS * stores + LOAD_SLOTS * found.length;
    if (this.#next + slots * SLOT_BYTES > this.#to) {
      this.#unplaced += found.length;
      return [];
    }
    return this.#insert(code, { first, last, live }, found, stores);
  }

  #insert(
    code: Code,
    { first, last, live }: Omit<BlockView, "code">,
    found: readonly { i: number; kind: AccessKind; instruction: Instruction }[],
    stores: number,
  ): Insertion[] {
    const blockSlot = this.#take(BLOCK_SLOTS);
    const firstStore = this.#next;
    let storeSlot = this.#take(STORE_SLOTS * stores);
    const insertions = found.map(({ i, kind, instruction }): Insertion => {
      const isStore = kind === "store" || kind === "update";
      const access: Access = {
        kind,
        instruction,
        next: code.offsets[i] + code.lengths[i],
        comparison: kind === "store" ? comparisonOf(instruction, bytesOf(code, i)) : undefined,
        loadSlot: kind === "store" ? 0 : this.#take(LOAD_SLOTS),
        storeSlot: isStore ? storeSlot : 0,
        live: live[i - first],
      };
      if (isStore) storeSlot += STORE_SLOTS * SLOT_BYTES;
      const { loadSlot } = access;
      const address = code.base + code.offsets[i];
      this.#sites.push({
        ...{ kind, address, bytes: instruction.size, loadSlot, blockSlot },
        storeSlot: access.storeSlot,
      });
      return accessCode(access, i, this.#common);
    });
    // Ids are there before the first store runs; of the places up to there, one where nobody reads the flags.
    const until = found.find(({ kind }) => kind === "store" || kind === "update")?.i ?? last - 1;
    let before = first;
    while (before < until && (live[before - first] & FLAGS) !== 0) before++;
    if ((live[before - first] & FLAGS) !== 0) before = first;
    const all = { first: firstStore, count: stores };
    const counting = blockCode({ live: live[before - first], reads: 0 }, before, blockSlot, all, this.#common);
    const at = insertions.findIndex((one) => one.before >= before);
    insertions.splice(at < 0 ? insertions.length : at, 0, counting);
    return insertions;
  }

  #take(slots: number): number {
    const at = this.#next;
    this.#next += slots * SLOT_BYTES;
    return at;
  }

  #isFramed(code: Code, i: number): boolean {
    const f = code.functionAround(code.offsets[i]);
    if (code !== this.#code || f !== this.#function) {
      this.#code = code;
      this.#function = f;
      this.#hasFramePointer = f >= 0 && hasFramePointer(code, code.functions[f]);
    }
    return this.#hasFramePointer;
  }
}

function bytesOf(code: Code, i: number): Uint8Array {
  return code.bytes.subarray(code.offsets[i], code.offsets[i] + code.lengths[i]);
}
