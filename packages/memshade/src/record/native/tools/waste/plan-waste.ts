import { decode, FLAGS, FLOW, Instruction } from "../../../../code/x64/decode/index.ts";
import { place, RAX, RSP } from "../../../../code/x64/index.ts";
import { int32 } from "../../../../code/x64/operands.ts";
import type { NativeToolOptions } from "../../native-tool.ts";
import { type Code, TRAIT } from "../../rewrite/code.ts";
import { FrameBases } from "../../rewrite/insertion/frame-bases.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import { elementBytes, isStringInstruction } from "../../rewrite/insertion/string-instructions.ts";
import { type BlockView, type Insertion, inOrder, type PlanBlock } from "../../rewrite/plan.ts";
import { systemCallNumber } from "../../rewrite/watched-system-calls.ts";
import { type Access, accessCode } from "./access-code.ts";
import { type AccessKind, accessOf, comparisonOf, isMasked, stringOf, type Unfollowed } from "./accesses.ts";
import {
  blockCode,
  countRun,
  frameEndCode,
  PUSH_CONSTANT,
  stringCode,
  systemCallCode,
} from "./block-code.ts";
import { type CommonCode, commonCode } from "./common-code.ts";
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
  STRING_SLOTS,
} from "./layout.ts";
import { ColdRoutines } from "./routines/cold-routines.ts";
import { STRING } from "./routines/string-routine.ts";
import { SiteNotes } from "./site-notes.ts";

const PUSHED_BYTES = 8;

/** A block whose runs are sampled: the first of its slots, and how many accesses it has. */
export interface SampledCode {
  blockSlot: number;
  stores: number;
  loads: number;
}

/** In front of a block's first instruction: counts down, and goes to the routine when it is through. */
export function sampledBlockCode(
  areFlagsLive: boolean,
  before: number,
  { blockSlot, stores, loads }: SampledCode,
  common: CommonCode,
): Insertion {
  return countRun(areFlagsLive, before, blockSlot, (snippet, here) => {
    for (const pushed of [blockSlot, stores | (loads << 16)]) snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
    snippet.put("push", 8, RAX);
    snippet.addressOf(here, RAX);
    snippet.put("xchg", 8, place(RSP), RAX);
    snippet.raw([PUSH_CONSTANT, ...int32(areFlagsLive ? RED_ZONE_BYTES + PUSHED_BYTES : 0)]);
    snippet.callCommon(common.sample);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 4 * PUSHED_BYTES));
  });
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
      if (code.flows[i] === FLOW.systemCall)
        calls.push(...systemCallCode(i, systemCallNumber(code, i), this.#common));
      const end = this.#common.isStackFollowed ? this.#frameEnds.at(code, i) : undefined;
      if (end !== undefined) calls.push(frameEndCode(end, i, (live[i - first] & FLAGS) !== 0, this.#common));
    }
    if (found.length === 0) return calls;
    const stores = found.filter(isStore).length;
    const slots = this.#blockSlots + STORE_SLOTS * stores + sum(found, loadSlots);
    if (this.#next + slots * SLOT_BYTES > this.#to) {
      this.#unplaced += found.length;
      return calls;
    }
    const insertions = this.#insert(code, { first, last, live }, found, stores);
    return inOrder([...insertions, ...calls]);
  }

  /** As many as code would take if all of its accesses were loads and stores at once, and followed. */
  #mostSlots(code: Code): number {
    let slots = 0;
    let hasAccess = false;
    for (let i = 0, starts = true; i < code.count; i++) {
      if (starts || (code.traits[i] & TRAIT.leader) !== 0) hasAccess = false;
      starts = code.flows[i] !== FLOW.next && code.flows[i] !== FLOW.systemCall;
      if ((code.traits[i] & TRAIT.access) === 0 && !isStringInstruction(code, i)) continue;
      slots += STORE_SLOTS + (isStringInstruction(code, i) ? STRING_SLOTS : LOAD_SLOTS);
      slots += hasAccess ? 0 : this.#blockSlots;
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
      if (isString) {
        const string = stringOf(instruction, this.#unfollowed);
        if (string === undefined) continue;
        const kind = (string & READS) === 0 ? "fill" : "string";
        found.push({ i, kind, instruction, string });
      } else {
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
    const insertions = found.flatMap((one): Insertion | Insertion[] => {
      const { i, kind, instruction, string } = one;
      const access: Access = {
        kind,
        instruction,
        next: code.offsets[i] + code.lengths[i],
        comparison: kind === "store" ? comparisonOf(instruction, bytesOf(code, i)) : undefined,
        loadSlot: loadSlots(one) === 0 ? 0 : this.#take(loadSlots(one)),
        storeSlot: isStore(one) ? storeSlot : 0,
        live: live[i - first],
        known: known.at(i, instruction),
      };
      if (isStore(one)) storeSlot += STORE_SLOTS * SLOT_BYTES;
      this.#sites.add({
        kind,
        address: code.base + code.offsets[i],
        bytes: string === 0 ? instruction.size : elementBytes(instruction),
        loadSlot: access.loadSlot,
        storeSlot: access.storeSlot,
        blockSlot,
      });
      if (string !== 0) return stringCode(access, string, i, this.#routines);
      const { insertion, words } = accessCode(access, i, this.#routines);
      known.keep(words, instruction, access.next);
      return insertion;
    });
    if (this.#isSampled) {
      const areFlagsLive = (live[0] & FLAGS) !== 0;
      const block = { blockSlot, stores, loads: sum(found, loadSlots) };
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
  /** Of a string instruction: what it is (`STRING`); else 0. */
  string: number;
}

function isStore({ kind, string }: FoundAccess): boolean {
  return kind === "store" || kind === "update" || (string & STRING.writesTarget) !== 0;
}

const READS = STRING.readsSource | STRING.readsTarget;

function loadSlots({ kind, string }: FoundAccess): number {
  if (string !== 0) return STRING_SLOTS;
  return kind === "store" ? 0 : LOAD_SLOTS;
}

function sum(all: readonly FoundAccess[], figure: (one: FoundAccess) => number): number {
  return all.reduce((before, one) => before + figure(one), 0);
}

function bytesOf(code: Code, i: number): Uint8Array {
  return code.bytes.subarray(code.offsets[i], code.offsets[i] + code.lengths[i]);
}
