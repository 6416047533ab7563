import { decode, FLAGS, FLOW, INSTRUCTION_POINTER, Instruction } from "../../../../code/x64/decode/index.ts";
import { place, RAX, RBP, RDI, type Register, RSI, RSP } from "../../../../code/x64/index.ts";
import { int32 } from "../../../../code/x64/operands.ts";
import type { FilePlan, NativeTool, NativeToolOptions, PlannedFile } from "../../native-tool.ts";
import { type Code, TRAIT } from "../../rewrite/code.ts";
import { FrameBases } from "../../rewrite/insertion/frame-bases.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import { elementBytes, isStringInstruction } from "../../rewrite/insertion/string-instructions.ts";
import { type BlockView, type Insertion, inOrder, type PlanBlock } from "../../rewrite/plan.ts";
import { systemCallNumber } from "../../rewrite/watched-system-calls.ts";
import { type Access, accessCode, ColdRoutines, type KnownWords, skipRedZone } from "./access-code.ts";
import { type AccessKind, accessOf, comparisonOf, isMasked, stringOf, type Unfollowed } from "./accesses.ts";
import { type CommonCode, commonCode, type FrameEnd, slot } from "./common-code.ts";
import {
  ARENA,
  BLOCK_SLOTS,
  LOAD_SLOTS,
  SAMPLED_BLOCK_SLOTS,
  SHADOW,
  SHADOW_BITS,
  SLOT_BYTES,
  SLOTS_END,
  STORE_SLOTS,
  STRING_SLOTS,
  TABLES_END,
} from "./layout.ts";
import { STRING } from "./routines/string-routine.ts";
import { MOST_BYTES, returnsLength } from "./routines/system-calls.ts";
import { SampledFunctions } from "./sampled-functions.ts";
import { keepPlace, notedPlace, SiteNotes, type SitePlace, settlePlace, takePlace } from "./site-places.ts";
import { Snippet, type SnippetLabel } from "./snippet.ts";

const PUSHED_BYTES = 8;
const PUSH_CONSTANT = 0x68;

/** The code in front of a string instruction and behind it: what it has reached is known there. Meanwhile the stack pointer is lower. */
function stringCode(
  { storeSlot, loadSlot }: Pick<Access, "storeSlot" | "loadSlot">,
  what: number,
  i: number,
  routines: ColdRoutines,
): Insertion[] {
  const before = new Snippet();
  skipRedZone(before);
  before.put("push", 8, RDI);
  before.put("push", 8, RSI);
  before.raw([PUSH_CONSTANT, ...int32(0)]);
  if (storeSlot !== 0) before.callCommon(routines.same(what));
  const behind = new Snippet();
  for (const pushed of [storeSlot, loadSlot]) behind.raw([PUSH_CONSTANT, ...int32(pushed)]);
  behind.callCommon(routines.string(what));
  behind.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 5 * PUSHED_BYTES));
  return [
    { ...before.finish(i), position: "last" },
    { ...behind.finish(i), position: "behind" },
  ];
}

/** The code in front of a system call and, if what it reaches is known by what it returns, behind it. */
function systemCallCode(i: number, number: number | undefined, common: CommonCode): Insertion[] {
  const call = (pushed: number, routine: number): Insertion => {
    const snippet = new Snippet();
    skipRedZone(snippet);
    snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
    snippet.callCommon(routine);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + PUSHED_BYTES));
    return snippet.finish(i);
  };
  if (number === undefined || !returnsLength(number)) return [call(MOST_BYTES, common.beforeSystemCall)];
  return [call(0, common.beforeSystemCall), { ...call(number, common.behindSystemCall), position: "behind" }];
}

/** The code in front of an instruction that ends a frame. */
function frameEndCode(
  { below, end, byFramePointer }: FrameEnd,
  before: number,
  areFlagsLive: boolean,
  common: CommonCode,
): Insertion {
  const snippet = new Snippet();
  skipRedZone(snippet);
  // The routine takes the stack pointer from where its operands lie.
  if (areFlagsLive) snippet.put("pushf", 8);
  const shift = areFlagsLive ? PUSHED_BYTES : 0;
  const pushed = [byFramePointer ? 1 : 0, byFramePointer ? end : end + shift, below - shift];
  for (const one of pushed) snippet.raw([PUSH_CONSTANT, ...int32(one)]);
  snippet.callCommon(common.frameEnd);
  snippet.put("lea", 8, RSP, place(RSP, 3 * PUSHED_BYTES));
  if (areFlagsLive) snippet.put("popf", 8);
  snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  return snippet.finish(before);
}

/** In front of one of a block's instructions: counts that it runs, and gives its stores ids when it does so first. */
function blockCode(
  areFlagsLive: boolean,
  before: number,
  blockSlot: number,
  stores: { first: number; count: number },
  common: CommonCode,
): Insertion {
  const assign = (snippet: Snippet): void => {
    for (const pushed of [stores.first, stores.count]) snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
    snippet.callCommon(common.assign);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  };
  return countRun(areFlagsLive, before, blockSlot, stores.count > 0 ? assign : undefined);
}

/**
 * Takes one off a block's slot.
 * @param onBorrow what runs, below the red zone, when that was 0; `here` is where all of it begins. It ends with the stack pointer as it was
 */
function countRun(
  areFlagsLive: boolean,
  before: number,
  blockSlot: number,
  onBorrow: ((snippet: Snippet, here: SnippetLabel) => void) | undefined,
): Insertion {
  const snippet = new Snippet();
  const here = snippet.label();
  snippet.bind(here);
  if (areFlagsLive) {
    skipRedZone(snippet);
    snippet.put("pushf", 8);
  }
  snippet.put("sub", 8, slot(blockSlot), 1);
  if (onBorrow !== undefined) {
    const borrowed = snippet.label();
    const back = snippet.label();
    snippet.jump(borrowed, "b");
    snippet.bind(back);
    snippet.continueIn("cold");
    snippet.bind(borrowed);
    skipRedZone(snippet);
    onBorrow(snippet, here);
    snippet.jump(back);
    snippet.continueIn("bytes");
  }
  if (areFlagsLive) {
    snippet.put("popf", 8);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  }
  return snippet.finish(before);
}

/** Of all code that is inserted; another number for each change. */
const KEY = "12";

/** What tells dead and silent stores of native programs. */
export function nativeWaste(options: NativeToolOptions = {}): NativeTool {
  const { includeStack = false, compat, contexts = false } = options;
  return {
    name: "waste",
    key: `${KEY}${includeStack ? "s" : ""}${compat === undefined ? "" : "c"}${contexts ? "x" : ""}`,
    plan: () => [],
    planFile: (file) => planFile(file, options),
    shadows: [
      { address: ARENA, bytes: TABLES_END - ARENA },
      { address: SHADOW, bytes: 2 ** SHADOW_BITS },
    ],
    slowPaths: 1,
    isWaste: compat === undefined ? 1 : 2,
    // Slots have ids, which are given out once.
    keptBytes: TABLES_END - ARENA,
  };
}

function planFile({ key, folder }: PlannedFile, options: NativeToolOptions): FilePlan {
  let place: SitePlace | undefined;
  const waste = new WastePlan((bytes) => {
    place = takePlace(folder, key, bytes);
    return place;
  }, options);
  return {
    plan: waste.plan,
    notes: () => {
      if (place !== undefined) keepPlace(folder, place, waste.end);
      return waste.notes();
    },
    onStored: (notes) => {
      if (place === undefined) return;
      if (!settlePlace(folder, key, notedPlace(notes)))
        throw new Error("it took so long that its tables are another program's; try again");
    },
  };
}

const RSP_BIT = 1 << RSP.number;
const [GROUP, GROUP_BYTE, LEA, LEAVE, MOV_TO, MOV_FROM] = [0x81, 0x83, 0x8d, 0xc9, 0x89, 0x8b];
const [ADD_RSP, SUB_RSP] = [0xc4, 0xec];
const WORD_BYTES = 8;

/** Which instructions end frames, or parts of them: those that raise the stack pointer, but for `pop`, whose words `push` wrote. */
class FrameEnds {
  readonly #frames: FrameBases;
  readonly #instruction = new Instruction();
  #code: Code | undefined;
  /** The function that was looked at last: its instructions, and how far below its stack pointer it reaches. */
  #first = 0;
  #last = 0;
  #below = 0;
  #belowAtReturn = 0;

  constructor(frames: FrameBases) {
    this.#frames = frames;
  }

  /** What ends in front of an instruction; undefined: nothing. */
  at(code: Code, i: number): FrameEnd | undefined {
    if (code.flows[i] === FLOW.return) {
      this.#look(code, i);
      return this.#belowAtReturn === 0
        ? undefined
        : { below: this.#belowAtReturn, end: 0, byFramePointer: false };
    }
    if ((code.kills[i] & RSP_BIT) === 0 && code.bytes[code.offsets[i]] !== LEAVE) return undefined;
    const end = this.#raised(code, i);
    if (end === undefined) return undefined;
    this.#look(code, i);
    return { ...end, below: this.#below };
  }

  #raised(code: Code, i: number): Omit<FrameEnd, "below"> | undefined {
    const instruction = this.#instruction;
    decode(code.bytes, code.offsets[i], instruction);
    const { opcode, modRmAt, length, base, index, displacement, reads } = instruction;
    if (opcode === LEAVE) return { end: 0, byFramePointer: true };
    if ((instruction.writes & RSP_BIT) === 0) return undefined;
    if (opcode === GROUP || opcode === GROUP_BYTE) {
      const at = code.offsets[i] + modRmAt;
      const view = new DataView(code.bytes.buffer, code.bytes.byteOffset);
      const size = length - modRmAt - 1;
      const value = size === 1 ? view.getInt8(at + 1) : view.getInt32(at + 1, true);
      const end = code.bytes[at] === ADD_RSP ? value : code.bytes[at] === SUB_RSP ? -value : 0;
      return end > 0 ? { end, byFramePointer: false } : undefined;
    }
    if (opcode === LEA && index < 0) {
      if (base === RSP.number)
        return displacement > 0 ? { end: displacement, byFramePointer: false } : undefined;
      if (base === RBP.number && this.#frames.isFrameBase(code, i, base))
        return { end: displacement, byFramePointer: true };
      return undefined;
    }
    if ((opcode === MOV_TO || opcode === MOV_FROM) && (reads & (1 << RBP.number)) !== 0)
      return this.#frames.isFrameBase(code, i, RBP.number) ? { end: 0, byFramePointer: true } : undefined;
    return undefined;
  }

  /** How far below the stack pointer the function of an instruction reaches. */
  #look(code: Code, i: number): void {
    if (this.#code === code && i >= this.#first && i < this.#last) return;
    const { first, last } = code.functions[code.functionAround(code.offsets[i])];
    this.#code = code;
    this.#first = first;
    this.#last = last;
    const one = new Instruction();
    let [below, belowPointer] = [0, 0];
    let isRaised = false;
    for (let at = first; at < last; at++) {
      isRaised ||= (code.kills[at] & RSP_BIT) !== 0 && this.#raised(code, at) !== undefined;
      if ((code.traits[at] & TRAIT.access) === 0) continue;
      decode(code.bytes, code.offsets[at], one);
      if (one.displacement >= 0) continue;
      if (one.base === RSP.number) below = Math.max(below, -one.displacement);
      else if (this.#frames.isFrameBase(code, at, one.base))
        belowPointer = Math.max(belowPointer, -one.displacement + WORD_BYTES);
    }
    this.#below = Math.min(below, RED_ZONE_BYTES);
    // A frame that is addressed by its pointer, and that nothing raises the stack pointer over, lies in the red zone.
    this.#belowAtReturn = Math.min(isRaised ? below : Math.max(below, belowPointer), RED_ZONE_BYTES);
  }
}

/** Words are reached from a place that is so near, bytes: a displacement of 32 bits has room for it. */
const NEAR = 4096;

/** In a block, the register with the place of the last access's words, for as long as its address is known by the same registers. */
class KnownPlaces {
  readonly #code: Code;
  readonly #instruction = new Instruction();
  /** Up to which instruction was looked. */
  #seen: number;
  #words: Register | undefined;
  #base = 0;
  #index = 0;
  #scale = 0;
  #displacement = 0;

  /** @param first instruction of the block */
  constructor(code: Code, first: number) {
    this.#code = code;
    this.#seen = first;
  }

  /** What is known in front of an access. To be asked in the order of instructions. */
  at(i: number, { base, index, scale, displacement }: Instruction): KnownWords | undefined {
    for (; this.#seen < i; this.#seen++) this.#forgetWritten(this.#seen);
    const isSame = base === this.#base && index === this.#index && scale === this.#scale;
    if (this.#words === undefined || !isSame) return undefined;
    const { offsets, lengths } = this.#code;
    const distance = absolute(base, displacement, offsets[i] + lengths[i]) - this.#displacement;
    return Math.abs(distance) < NEAR ? { register: this.#words, distance } : undefined;
  }

  /** A register has the place of an access's words, unless they were known before. `next`: the instruction behind it. */
  keep(words: Register | undefined, { base, index, scale, displacement }: Instruction, next: number): void {
    const isKnown = words !== undefined && words === this.#words;
    const isSame = base === this.#base && index === this.#index && scale === this.#scale;
    const to = absolute(base, displacement, next);
    if (isKnown && isSame && Math.abs(to - this.#displacement) < NEAR) return;
    this.#words = words;
    this.#base = base;
    this.#index = index;
    this.#scale = scale;
    this.#displacement = to;
  }

  /** What an instruction overwrites is not known behind it. */
  #forgetWritten(i: number): void {
    if (this.#words === undefined) return;
    decode(this.#code.bytes, this.#code.offsets[i], this.#instruction);
    const bit = (register: number): number =>
      register >= 0 && register < INSTRUCTION_POINTER ? 1 << register : 0;
    const uses = bit(this.#words.number) | bit(this.#base) | bit(this.#index);
    if ((this.#instruction.writes & uses) !== 0) this.#words = undefined;
  }
}

/** A displacement that can be compared with others: relative to the instruction, it is the place in the old code. */
function absolute(base: number, displacement: number, next: number): number {
  return base === INSTRUCTION_POINTER ? next + displacement : displacement;
}

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
  /** Every block is sampled with its contexts. */
  readonly #isByPath: boolean;
  #sampled: SampledFunctions | undefined;
  readonly #frameEnds = new FrameEnds(this.#frames);

  /** @param place where its slots may be; it is asked once, if there is code */
  constructor(place: GivePlace = () => ({ from: ARENA, to: SLOTS_END }), options: NativeToolOptions = {}) {
    this.#common = commonCode(options);
    this.#isByPath = options.contexts === true;
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
    this.#sampled ??= new SampledFunctions(code);
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
    const isSampled = this.#isByPath || this.#sampled.has(first);
    const slots = blockSlots(isSampled) + STORE_SLOTS * stores + sum(found, loadSlots);
    if (this.#next + slots * SLOT_BYTES > this.#to) {
      this.#unplaced += found.length;
      return calls;
    }
    const insertions = this.#insert(code, { first, last, live }, { found, stores, isSampled });
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
      slots += hasAccess ? 0 : blockSlots(this.#isByPath || this.#sampled?.has(i) === true);
      hasAccess = true;
    }
    return slots;
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
    { found, stores, isSampled }: { found: readonly FoundAccess[]; stores: number; isSampled: boolean },
  ): Insertion[] {
    const blockSlot = this.#take(blockSlots(isSampled));
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
        isSampled,
      });
      if (string !== 0) return stringCode(access, string, i, this.#routines);
      const { insertion, words } = accessCode(access, i, this.#routines);
      known.keep(words, instruction, access.next);
      return insertion;
    });
    if (isSampled) {
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

function blockSlots(isSampled: boolean): number {
  return isSampled ? SAMPLED_BLOCK_SLOTS : BLOCK_SLOTS;
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
