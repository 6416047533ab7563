import {
  decode,
  FLAGS,
  FLOW,
  hasTarget,
  INSTRUCTION_POINTER,
  Instruction,
} from "../../../../code/x64/decode/index.ts";
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
import { type AccessKind, accessOf, comparisonOf, isMasked, stringOf } from "./accesses.ts";
import { type CommonCode, commonCode, type FrameEnd, slot } from "./common-code.ts";
import {
  ARENA,
  BLOCK_SLOTS,
  LOAD_SLOTS,
  MARK_BITS,
  MARKS_BIT,
  SAMPLED_BLOCK_SLOTS,
  SHADOW,
  SHADOW_BITS,
  SLOT_BYTES,
  SLOTS_END,
  STORE_SLOTS,
  STRING_SLOTS,
  TABLES_END,
} from "./layout.ts";
import { LoopLoads } from "./loop-loads.ts";
import { STRING } from "./routines/string-routine.ts";
import { MOST_BYTES, returnsLength } from "./routines/system-calls.ts";
import { keepPlace, notedPlace, SiteNotes, type SitePlace, settlePlace, takePlace } from "./site-places.ts";
import { Snippet, type SnippetLabel } from "./snippet.ts";

const PUSHED_BYTES = 8;
const PUSH_CONSTANT = 0x68;

/**
 * Returns the code before and after a string instruction. The range that it reached is known only afterwards. Between
 * the two parts the stack pointer stays lowered.
 */
function stringCode(
  { storeSlot, loadSlot }: Pick<Access, "storeSlot" | "loadSlot">,
  form: number,
  i: number,
  routines: ColdRoutines,
): Insertion[] {
  const before = new Snippet();
  skipRedZone(before);
  before.put("push", 8, RDI);
  before.put("push", 8, RSI);
  before.raw([PUSH_CONSTANT, ...int32(0)]);
  if (storeSlot !== 0) before.callCommon(routines.same(form));
  const behind = new Snippet();
  for (const pushed of [storeSlot, loadSlot]) behind.raw([PUSH_CONSTANT, ...int32(pushed)]);
  behind.callCommon(routines.string(form));
  behind.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 5 * PUSHED_BYTES));
  return [
    { ...before.finish(i), position: "last" },
    { ...behind.finish(i), position: "behind" },
  ];
}

/** Returns the code before a system call and, if the accessed range depends on the result, after it. */
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

function frameEndCode(
  { below, end, byFramePointer }: FrameEnd,
  before: number,
  areFlagsLive: boolean,
  common: CommonCode,
): Insertion {
  const snippet = new Snippet();
  skipRedZone(snippet);
  // The routine finds the stack pointer relative to its pushed operands.
  if (areFlagsLive) snippet.put("pushf", 8);
  const shift = areFlagsLive ? PUSHED_BYTES : 0;
  const pushed = [byFramePointer ? 1 : 0, byFramePointer ? end : end + shift, below - shift];
  for (const operand of pushed) snippet.raw([PUSH_CONSTANT, ...int32(operand)]);
  snippet.callCommon(common.frameEnd);
  snippet.put("lea", 8, RSP, place(RSP, 3 * PUSHED_BYTES));
  if (areFlagsLive) snippet.put("popf", 8);
  snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  return snippet.finish(before);
}

/** Returns code that counts runs of a block. The first run gives ids to the block's stores. */
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
 * Returns code that subtracts one from a block's slot.
 *
 * @param onBorrow emits code for the case that the slot was 0. The code runs below the red zone and must leave the
 * stack pointer as it was. `here` is the start of the whole insertion.
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

/** Version of all inserted code. Change it with each change of that code. */
const KEY = "16";

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
      { address: 2 ** MARKS_BIT, bytes: 2 ** MARK_BITS },
    ],
    slowPaths: 1,
    isWaste: compat === undefined ? 1 : 2,
    // Slots hold store ids, and each id is assigned only once.
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

/**
 * Finds instructions that end a frame or a part of it: those that raise the stack pointer, except `pop`, whose words
 * `push` wrote.
 */
class FrameEnds {
  readonly #frames: FrameBases;
  readonly #instruction = new Instruction();
  #code: Code | undefined;
  /** Cache of the last function: its instructions, and the bytes below its stack pointer that it uses. */
  #first = 0;
  #last = 0;
  #below = 0;
  #belowAtReturn = 0;

  constructor(frames: FrameBases) {
    this.#frames = frames;
  }

  at(code: Code, i: number): FrameEnd | undefined {
    if (code.flows[i] === FLOW.return) {
      this.#measureBelow(code, i);
      return this.#belowAtReturn === 0
        ? undefined
        : { below: this.#belowAtReturn, end: 0, byFramePointer: false };
    }
    if ((code.kills[i] & RSP_BIT) === 0 && code.bytes[code.offsets[i]] !== LEAVE) return undefined;
    const end = this.#raised(code, i);
    if (end === undefined) return undefined;
    this.#measureBelow(code, i);
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

  /** Measures how far below the stack pointer the function of an instruction accesses memory. */
  #measureBelow(code: Code, i: number): void {
    if (this.#code === code && i >= this.#first && i < this.#last) return;
    const { first, last } = code.functions[code.functionAround(code.offsets[i])];
    this.#code = code;
    this.#first = first;
    this.#last = last;
    const instruction = new Instruction();
    let [below, belowPointer] = [0, 0];
    let isRaised = false;
    for (let at = first; at < last; at++) {
      isRaised ||= (code.kills[at] & RSP_BIT) !== 0 && this.#raised(code, at) !== undefined;
      if ((code.traits[at] & TRAIT.access) === 0) continue;
      decode(code.bytes, code.offsets[at], instruction);
      if (instruction.displacement >= 0) continue;
      if (instruction.base === RSP.number) below = Math.max(below, -instruction.displacement);
      else if (this.#frames.isFrameBase(code, at, instruction.base))
        belowPointer = Math.max(belowPointer, -instruction.displacement + WORD_BYTES);
    }
    this.#below = Math.min(below, RED_ZONE_BYTES);
    // If a frame is addressed by its frame pointer and no instruction raises the stack pointer, the frame lies in the
    // red zone.
    this.#belowAtReturn = Math.min(isRaised ? below : Math.max(below, belowPointer), RED_ZONE_BYTES);
  }
}

/** Largest distance at which a shadow offset is reused, bytes. It keeps displacements within 32 bits. */
const NEAR = 4096;

/**
 * Tracks the register that holds the last access's shadow offset within a block. Any write to a register that it
 * depends on ends that.
 */
class KnownPlaces {
  readonly #code: Code;
  readonly #instruction = new Instruction();
  #seen: number;
  #words: Register | undefined;
  #base = 0;
  #index = 0;
  #scale = 0;
  #displacement = 0;

  constructor(code: Code, first: number) {
    this.#code = code;
    this.#seen = first;
  }

  /** Returns the known shadow offset before an access. Call it in the order of the instructions. */
  at(i: number, { base, index, scale, displacement }: Instruction): KnownWords | undefined {
    for (; this.#seen < i; this.#seen++) this.#forgetWritten(this.#seen);
    const isSame = base === this.#base && index === this.#index && scale === this.#scale;
    if (this.#words === undefined || !isSame) return undefined;
    const { offsets, lengths } = this.#code;
    const distance = absolute(base, displacement, offsets[i] + lengths[i]) - this.#displacement;
    return Math.abs(distance) < NEAR ? { register: this.#words, distance } : undefined;
  }

  /**
   * Records that a register holds the shadow offset of an access. `next` is the offset of the following instruction.
   */
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

  #forgetWritten(i: number): void {
    if (this.#words === undefined) return;
    decode(this.#code.bytes, this.#code.offsets[i], this.#instruction);
    const bit = (register: number): number =>
      register >= 0 && register < INSTRUCTION_POINTER ? 1 << register : 0;
    const uses = bit(this.#words.number) | bit(this.#base) | bit(this.#index);
    if ((this.#instruction.writes & uses) !== 0) this.#words = undefined;
  }
}

/**
 * Returns a displacement that can be compared with others. A displacement from the instruction pointer becomes an
 * offset in the old code.
 */
function absolute(base: number, displacement: number, next: number): number {
  return base === INSTRUCTION_POINTER ? next + displacement : displacement;
}

export interface SampledCode {
  blockSlot: number;
  stores: number;
  loads: number;
}

/**
 * Returns code before a block's first instruction that counts down, and calls the sampling routine when the count is
 * used up.
 */
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

/**
 * Functions of the C library that store on behalf of a caller, so that only the caller identifies a line of the
 * program. Checked variants (`__memcpy_chk`) and variants for certain processors are found through them.
 */
const COPYING = [
  ...["memcpy", "memmove", "mempcpy", "memccpy", "memset", "bcopy", "bzero", "explicit_bzero"],
  ...["strcpy", "stpcpy", "strncpy", "stpncpy", "strcat", "strncat", "strlcpy", "strlcat"],
  ...["wmemcpy", "wmemmove", "wmempcpy", "wmemset"],
  ...["wcscpy", "wcpcpy", "wcsncpy", "wcpncpy", "wcscat", "wcsncat", "wcslcpy", "wcslcat"],
];

/** Functions of the C library whose blocks are always sampled by caller. The set is empty for all other files. */
class SampledFunctions {
  readonly #code: Code;
  readonly #functions = new Set<number>();

  constructor(code: Code) {
    this.#code = code;
    if (!code.isCLibrary) return;
    for (const name of COPYING)
      for (const symbol of [name, `__${name}_chk`]) {
        const address = code.symbols.get(symbol);
        if (address !== undefined) this.#add(address - code.base);
      }
  }

  has(i: number): boolean {
    return this.#functions.size > 0 && this.#functions.has(this.#code.functionAround(this.#code.offsets[i]));
  }

  /** Adds the function at an offset. If it selects an implementation by processor, adds all candidates instead. */
  #add(offset: number): void {
    const code = this.#code;
    const own = code.functionAt(offset);
    if (own < 0) return;
    const chosen = this.#addressesIn(own);
    for (const index of chosen.length > 0 ? chosen : [own]) this.#functions.add(index);
  }

  #addressesIn(own: number): number[] {
    const { bytes, functions, offsets, opcodes, lengths } = this.#code;
    const instruction = new Instruction();
    const found: number[] = [];
    for (let i = functions[own].first; i < functions[own].last; i++) {
      if (opcodes[i] !== LEA) continue;
      decode(bytes, offsets[i], instruction);
      if (instruction.base !== INSTRUCTION_POINTER) continue;
      const index = this.#code.functionAt(offsets[i] + lengths[i] + instruction.displacement);
      if (index >= 0) found.push(index);
    }
    return found;
  }
}

export type GivePlace = (bytes: number) => { from: number; to: number };

export class WastePlan {
  readonly plan: PlanBlock;
  readonly #common: CommonCode;
  readonly #routines: ColdRoutines;
  readonly #sites = new SiteNotes();
  readonly #place: GivePlace;
  #from = 0;
  #to = 0;
  #unplaced = 0;
  #next = 0;
  readonly #frames = new FrameBases();
  /** True if all blocks are sampled with their contexts. */
  readonly #isByPath: boolean;
  #sampled: SampledFunctions | undefined;
  readonly #frameEnds = new FrameEnds(this.#frames);
  readonly #loopLoads: LoopLoads;
  /** Slots of the blocks that bound the entries of loops. */
  readonly #entrySlots = new Map<number, number>();
  /** Slots of loads in loops, by instruction. */
  readonly #loopSlots = new Map<number, number>();

  /** @param place reserves the slots; called once, when the first block is planned */
  constructor(place: GivePlace = () => ({ from: ARENA, to: SLOTS_END }), options: NativeToolOptions = {}) {
    this.#common = commonCode(options);
    this.#isByPath = options.contexts === true;
    this.#routines = new ColdRoutines(this.#common);
    this.#place = place;
    this.#loopLoads = new LoopLoads(
      ({ code, firsts }, block) => this.#accesses(code, firsts[block], firsts[block + 1]).length > 0,
    );
    this.plan = Object.defineProperty((block: BlockView) => this.#planBlock(block), "common", {
      get: () => this.#routines.bytes,
    });
  }

  get end(): number {
    return this.#next;
  }

  /** Returns the notes on all blocks planned so far; `readNotes` reads them. */
  notes(): Uint8Array {
    const placed = { from: this.#from, to: this.#next, unplaced: this.#unplaced };
    return this.#sites.write(placed, { entries: this.#entrySlots, loads: this.#loopSlots });
  }

  #planBlock(view: BlockView): readonly Insertion[] {
    const { code, graph, block, first, last, live } = view;
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
    const isEntry = !this.#isByPath && this.#loopLoads.isEntry(graph, block);
    if (found.length === 0 && !isEntry) return calls;
    const stores = found.filter(isStore).length;
    const isSampled = this.#isByPath || this.#sampled.has(first);
    const slots = blockSlots(isSampled) + STORE_SLOTS * stores + sum(found, loadSlots);
    if (this.#next + slots * SLOT_BYTES > this.#to) {
      this.#unplaced += found.length;
      return calls;
    }
    if (isEntry && !isSampled) this.#entrySlots.set(block, this.#next);
    const insertions = this.#insert(view, { found, stores, isSampled });
    return inOrder([...insertions, ...calls]);
  }

  /** Upper bound: the number of slots if every access both loaded and stored. */
  #mostSlots(code: Code): number {
    let slots = 0;
    let hasAccess = false;
    for (let i = 0, starts = true; i < code.count; i++) {
      if (starts || (code.traits[i] & TRAIT.leader) !== 0) hasAccess = false;
      starts = code.flows[i] !== FLOW.next && code.flows[i] !== FLOW.systemCall;
      // A loop may need the runs of a block without accesses.
      if (hasTarget(code.flows[i]) && code.targets[i] <= code.offsets[i]) slots += BLOCK_SLOTS;
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
        const string = stringOf(instruction);
        if (string === undefined) continue;
        const kind = (string & READS) === 0 ? "fill" : "string";
        found.push({ i, kind, instruction, string });
      } else {
        const isFrame = this.#frames.isFrameBase(code, i, instruction.base);
        const kind = accessOf(instruction, isFrame, this.#common.isStackFollowed);
        if (kind === undefined) continue;
        if (kind !== "load" && isMasked(instruction, bytesOf(code, i))) continue;
        found.push({ i, kind, instruction, string: 0 });
      }
      instruction = new Instruction();
    }
    return found;
  }

  #insert(
    { code, graph, block, first, last, live }: BlockView,
    { found, stores, isSampled }: { found: readonly FoundAccess[]; stores: number; isSampled: boolean },
  ): Insertion[] {
    const blockSlot = this.#take(blockSlots(isSampled));
    const firstStore = this.#next;
    let storeSlot = this.#take(STORE_SLOTS * stores);
    const knownPlaces = new KnownPlaces(code, first);
    const insertions = found.flatMap((foundAccess): Insertion | Insertion[] => {
      const { i, kind, instruction, string } = foundAccess;
      const access: Access = {
        kind,
        instruction,
        next: code.offsets[i] + code.lengths[i],
        comparison: kind === "store" ? comparisonOf(instruction, bytesOf(code, i)) : undefined,
        loadSlot: loadSlots(foundAccess) === 0 ? 0 : this.#take(loadSlots(foundAccess)),
        storeSlot: isStore(foundAccess) ? storeSlot : 0,
        live: live[i - first],
        knownWords: knownPlaces.at(i, instruction),
      };
      if (isStore(foundAccess)) storeSlot += STORE_SLOTS * SLOT_BYTES;
      this.#sites.add({
        kind,
        address: code.base + code.offsets[i],
        bytes: string === 0 ? instruction.size : elementBytes(instruction),
        loadSlot: access.loadSlot,
        storeSlot: access.storeSlot,
        blockSlot,
        isSampled,
      });
      if (kind === "load" && !isSampled) {
        const inLoop = this.#loopLoads.at(graph, block, i, instruction);
        if (inLoop !== undefined) {
          this.#loopSlots.set(i, access.loadSlot);
          this.#sites.addLoop(inLoop);
        }
      }
      if (string !== 0) return stringCode(access, string, i, this.#routines);
      const { insertion, words } = accessCode(access, i, this.#routines);
      knownPlaces.keep(words, instruction, access.next);
      return insertion;
    });
    if (isSampled) {
      const areFlagsLive = (live[0] & FLAGS) !== 0;
      const block = { blockSlot, stores, loads: sum(found, loadSlots) };
      return [sampledBlockCode(areFlagsLive, first, block, this.#common), ...insertions];
    }
    // Ids must be assigned before the first store runs. Prefer an insertion point where the flags are dead.
    const until = found.find(isStore)?.i ?? last - 1;
    let before = first;
    while (before < until && (live[before - first] & FLAGS) !== 0) before++;
    const areFlagsLive = (live[before - first] & FLAGS) !== 0;
    if (areFlagsLive) before = first;
    const storeRange = { first: firstStore, count: stores };
    const counting = blockCode(areFlagsLive, before, blockSlot, storeRange, this.#common);
    const at = insertions.findIndex((insertion) => insertion.before >= before);
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
  /** Form of a string instruction (`STRING` bits), else 0. */
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

function sum(accesses: readonly FoundAccess[], figure: (access: FoundAccess) => number): number {
  return accesses.reduce((before, access) => before + figure(access), 0);
}

function bytesOf(code: Code, i: number): Uint8Array {
  return code.bytes.subarray(code.offsets[i], code.offsets[i] + code.lengths[i]);
}
