import type { NativeToolOptions } from "../../../native/native-tool.ts";
import { type Code, TRAIT } from "../../../native/rewrite/code.ts";
import type { BlockView, Insertion, PlanBlock } from "../../../native/rewrite/emit.ts";
import { FrameBases } from "../../../native/rewrite/insertion/frame-bases.ts";
import { isStringInstruction } from "../../../native/rewrite/insertion/string-instructions.ts";
import { decode, FLAGS, FLOW, Instruction } from "../../../x64/decode/index.ts";
import { type Access, accessCode } from "./access-code.ts";
import { type AccessKind, accessOf, comparisonOf, isMasked, stringOf, type Unfollowed } from "./accesses.ts";
import { blockCode, frameEndCode, stringCode, systemCallCode } from "./block-code.ts";
import { type CommonCode, commonCode } from "./common-code.ts";
import { sampledBlockCode } from "./context-code.ts";
import { FrameEnds } from "./frame-ends.ts";
import { KnownPlaces } from "./known-places.ts";
import {
  ARENA,
  BLOCK_SLOTS,
  LOAD_SLOTS,
  SAMPLED_BLOCK_SLOTS,
  SLOT_BYTES,
  SLOTS_END,
  STORE_SLOTS,
} from "./layout.ts";
import { ColdRoutines } from "./routines/cold-routines.ts";
import { STRING } from "./routines/string-routine.ts";
import { SiteNotes } from "./site-notes.ts";

/** An access of a file, and where its figures are. */
export interface NativeSite {
  kind: AccessKind;
  /** Address (SVMA) of its instruction. */
  address: number;
  /** Of string instructions, those of an element. */
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

/** Gives a file at most so many bytes for its slots, or fewer: addresses. */
export type GivePlace = (bytes: number) => { from: number; to: number };

/** The tool for one file, whose slots begin at an address. */
export class WastePlan {
  readonly plan: PlanBlock;
  readonly #common: CommonCode;
  readonly #routines: ColdRoutines;
  readonly #sites = new SiteNotes();
  readonly #place: GivePlace;
  #from = 0;
  #to = 0;
  readonly #unfollowed: Unfollowed = { stack: 0, thread: 0, unusual: 0 };
  #unplaced = 0;
  #next = 0;
  readonly #frames = new FrameBases();
  /** Blocks are sampled with their contexts. */
  readonly #isSampled: boolean;
  readonly #frameEnds = new FrameEnds(this.#frames);

  /** @param place where its slots may be; it is asked once, if there is code */
  constructor(place: GivePlace = () => ({ from: ARENA, to: SLOTS_END }), options: NativeToolOptions = {}) {
    this.#common = commonCode(options);
    this.#isSampled = options.contexts === true;
    this.#routines = new ColdRoutines(this.#common);
    this.#place = place;
    this.plan = Object.defineProperty((block: BlockView) => this.#planBlock(block), "common", {
      get: () => this.#routines.bytes,
    });
  }

  /** Behind the last slot that was given so far. */
  get end(): number {
    return this.#next;
  }

  /** Of what was planned so far: see `readNotes`. */
  notes(): Uint8Array {
    const [from, to] = [this.#from, this.#next];
    return this.#sites.write({ from, to, unfollowed: this.#unfollowed, unplaced: this.#unplaced });
  }

  #planBlock({ code, first, last, live }: BlockView): readonly Insertion[] {
    if (this.#to === 0) {
      const { from, to } = this.#place(this.#mostSlots(code) * SLOT_BYTES);
      [this.#from, this.#to, this.#next] = [from, to, from];
    }
    const found = this.#accesses(code, first, last);
    const calls: Insertion[] = [];
    for (let i = first; i < last; i++) {
      if (code.flows[i] === FLOW.systemCall) calls.push(systemCallCode(i, this.#common));
      const end = this.#common.isStackFollowed ? this.#frameEnds.at(code, i) : undefined;
      if (end !== undefined) calls.push(frameEndCode(end, i, (live[i - first] & FLAGS) !== 0, this.#common));
    }
    if (found.length === 0) return calls;
    const stores = found.filter(isStore).length;
    const slots = this.#blockSlots + STORE_SLOTS * stores + LOAD_SLOTS * found.length;
    if (this.#next + slots * SLOT_BYTES > this.#to) {
      this.#unplaced += found.length;
      return calls;
    }
    const insertions = this.#insert(code, { first, last, live }, found, stores);
    if (calls.length === 0) return insertions;
    return [...insertions, ...calls].sort((a, b) => a.before - b.before);
  }

  /** As many as code would take if all of its accesses were loads and stores at once, and followed. */
  #mostSlots(code: Code): number {
    let slots = 0;
    let hasAccess = false;
    for (let i = 0, starts = true; i < code.count; i++) {
      if (starts || (code.traits[i] & TRAIT.leader) !== 0) hasAccess = false;
      starts = code.flows[i] !== FLOW.next && code.flows[i] !== FLOW.systemCall;
      if ((code.traits[i] & TRAIT.access) === 0 && !isStringInstruction(code, i)) continue;
      slots += STORE_SLOTS + LOAD_SLOTS + (hasAccess ? 0 : this.#blockSlots);
      hasAccess = true;
    }
    return slots;
  }

  get #blockSlots(): number {
    return this.#isSampled ? SAMPLED_BLOCK_SLOTS : BLOCK_SLOTS;
  }

  #accesses(code: Code, first: number, last: number): FoundAccess[] {
    const found: FoundAccess[] = [];
    let instruction = new Instruction();
    for (let i = first; i < last; i++) {
      const isString = isStringInstruction(code, i);
      if ((code.traits[i] & TRAIT.access) === 0 && !isString) continue;
      decode(code.bytes, code.offsets[i], instruction);
      const string = isString ? stringOf(instruction) : undefined;
      if (string !== undefined) found.push({ i, kind: "string", instruction, string });
      else {
        const isFrame = this.#frames.isFrameBase(code, i, instruction.base);
        const kind = accessOf(instruction, isFrame, this.#unfollowed, this.#common.isStackFollowed);
        if (kind === undefined) continue;
        if (kind !== "load" && isMasked(instruction, bytesOf(code, i))) {
          this.#unfollowed.unusual++;
          continue;
        }
        found.push({ i, kind, instruction, string: 0 });
      }
      instruction = new Instruction();
    }
    return found;
  }

  #insert(
    code: Code,
    { first, last, live }: Omit<BlockView, "code">,
    found: readonly FoundAccess[],
    stores: number,
  ): Insertion[] {
    const blockSlot = this.#take(this.#blockSlots);
    const firstStore = this.#next;
    let storeSlot = this.#take(STORE_SLOTS * stores);
    const known = new KnownPlaces(code, first);
    const insertions = found.map((one): Insertion => {
      const { i, kind, instruction, string } = one;
      const access: Access = {
        kind,
        instruction,
        next: code.offsets[i] + code.lengths[i],
        comparison: kind === "store" ? comparisonOf(instruction, bytesOf(code, i)) : undefined,
        loadSlot: isLoad(one) ? this.#take(LOAD_SLOTS) : 0,
        storeSlot: isStore(one) ? storeSlot : 0,
        live: live[i - first],
        known: known.at(i, instruction),
      };
      if (isStore(one)) storeSlot += STORE_SLOTS * SLOT_BYTES;
      this.#sites.add({
        kind,
        address: code.base + code.offsets[i],
        bytes: kind === "string" ? string & 0xff : instruction.size,
        loadSlot: access.loadSlot,
        storeSlot: access.storeSlot,
        blockSlot,
      });
      if (kind === "string") return stringCode(access, string, i, this.#common);
      const { insertion, words } = accessCode(access, i, this.#routines);
      known.keep(words, instruction, access.next);
      return insertion;
    });
    if (this.#isSampled) {
      const areFlagsLive = (live[0] & FLAGS) !== 0;
      const block = { blockSlot, stores, loads: found.filter(isLoad).length };
      return [sampledBlockCode(areFlagsLive, first, block, this.#common), ...insertions];
    }
    // Ids are there before the first store runs; of the places up to there, one where nobody reads the flags.
    const until = found.find(isStore)?.i ?? last - 1;
    let before = first;
    while (before < until && (live[before - first] & FLAGS) !== 0) before++;
    const areFlagsLive = (live[before - first] & FLAGS) !== 0;
    if (areFlagsLive) before = first;
    const all = { first: firstStore, count: stores };
    const counting = blockCode(areFlagsLive, before, blockSlot, all, this.#common);
    const at = insertions.findIndex((one) => one.before >= before);
    insertions.splice(at < 0 ? insertions.length : at, 0, counting);
    return insertions;
  }

  #take(slots: number): number {
    const at = this.#next;
    this.#next += slots * SLOT_BYTES;
    return at;
  }
}

interface FoundAccess {
  i: number;
  kind: AccessKind;
  instruction: Instruction;
  /** Of a string instruction: what its routine is told. */
  string: number;
}

function isStore({ kind, string }: FoundAccess): boolean {
  return kind === "store" || kind === "update" || (string & STRING.writesTarget) !== 0;
}

function isLoad({ kind, string }: FoundAccess): boolean {
  if (kind === "string") return (string & (STRING.readsSource | STRING.readsTarget)) !== 0;
  return kind !== "store";
}

function bytesOf(code: Code, i: number): Uint8Array {
  return code.bytes.subarray(code.offsets[i], code.offsets[i] + code.lengths[i]);
}
