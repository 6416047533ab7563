import type { ObjectFile } from "../../../code/objects/types.ts";
import {
  CfiCursor,
  DW_EH_PE,
  type FrameEntry,
  frameEntries,
  isSignalFrame,
} from "../../../code/unwind/index.ts";
import {
  decode,
  FLOW,
  hasTarget,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
} from "../../../code/x64/decode/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import type { ByteWriter } from "../../../ground/bytes/writer.ts";
import { dynamicSymbols } from "../start/dynamic-symbols.ts";

/** A function that can be rewritten. Addresses are offsets from `Code.base`. */
export interface CodeFunction {
  readonly start: number;
  readonly end: number;
  readonly frame: FrameEntry;
  /** Instructions `[first, last)`. */
  readonly first: number;
  readonly last: number;
  readonly exceptions: ExceptionTable | undefined;
}

/** Number of functions that are not rewritten, by reason. */
export interface LeftAlone {
  undecodable: number;
  overlapping: number;
  /** signal frames, and PLT stubs */
  special: number;
  /** exception tables that this code cannot read */
  exceptions: number;
  /**
   * call sites found by return addresses, for a garbage collector or by the callee; or code that is read as
   * data
   */
  returnAddresses: number;
}

export const TRAIT = {
  /**
   * The instruction accesses memory, by an operand or implicitly (`maskmov`, `xlat`). String instructions are
   * detected separately.
   */
  access: 1,
  nop: 2,
  /** control may arrive here by a jump, a call or an exception */
  leader: 4,
  /** something else than direct jumps has its address */
  label: 8,
} as const;

const [NOP, TRAP] = [0x90, 0xcc];
const LONG_NOP = 0x11f;

/**
 * All functions of an object, decoded into columns. Offsets count from `base` (SVMA), the first function's
 * address.
 */
export class Code {
  readonly base: number;
  readonly bytes: Uint8Array;
  readonly stubs: Stubs;
  readonly functions: CodeFunction[] = [];
  readonly leftAlone: LeftAlone = {
    undecodable: 0,
    overlapping: 0,
    special: 0,
    exceptions: 0,
    returnAddresses: 0,
  };
  /**
   * Targets of calls and jumps in code that is not rewritten. Such callers may keep values in any register.
   */
  readonly reachedFromOutside: number[] = [];
  readonly labels: number[] = [];
  /** Starts of functions that are not rewritten. */
  readonly #startsOutside = new Set<number>();
  /**
   * `#starts` has a bit per byte of code, set where an instruction begins. `#firstOfWord` has the first
   * instruction of each word of bits.
   */
  readonly #starts: Int32Array;
  readonly #firstOfWord: Int32Array;

  /**
   * True for the C library, which selects an implementation of `memcpy` and similar functions by the
   * processor.
   */
  readonly isCLibrary: boolean;
  readonly symbols: ReadonlyMap<string, number>;
  count = 0;
  readonly offsets: Int32Array;
  readonly lengths: Uint8Array;
  /** Last byte of each opcode. */
  readonly opcodes: Uint8Array;
  readonly flows: Uint8Array;
  readonly traits: Uint8Array;
  readonly reads: Int32Array;
  readonly kills: Int32Array;
  /** Offset of the target of a direct jump or call, else 0. */
  readonly targets: Int32Array;
  /** Offset in the instruction of a rip-relative displacement, or 0. */
  readonly relativeAt: Uint8Array;

  /**
   * @param fixed addresses (SVMA) of functions that must not be rewritten
   * @throws FormatError `unsupported` if there is no function, or code of more than 2 GiB
   */
  constructor(object: ObjectFile, fixed: ReadonlySet<number> = new Set()) {
    const frames = frameEntries(object).sort((a, b) => a.start - b.start);
    if (frames.length === 0) throw unsupported("it has no functions in .eh_frame");
    this.base = frames[0].start;
    const size = frames.reduce((end, frame) => Math.max(end, frame.start + frame.size), 0) - this.base;
    if (size >= 2 ** 31) throw unsupported("its code takes more than 2 GiB");
    this.bytes = wholeCode(object, this.base, size);
    // Unused rows of the columns take no memory: the kernel allocates pages on first touch.
    const capacity = this.bytes.length;
    this.offsets = new Int32Array(capacity);
    this.lengths = new Uint8Array(capacity);
    this.opcodes = new Uint8Array(capacity);
    this.flows = new Uint8Array(capacity);
    this.traits = new Uint8Array(capacity);
    this.reads = new Int32Array(capacity);
    this.kills = new Int32Array(capacity);
    this.targets = new Int32Array(capacity);
    this.relativeAt = new Uint8Array(capacity);
    this.#starts = new Int32Array((capacity >> 5) + 1);
    this.#firstOfWord = new Int32Array((capacity >> 5) + 1);
    this.stubs = new Stubs(object, this.base);
    this.symbols = dynamicSymbols(object).defined;
    this.isCLibrary = this.symbols.has("gnu_get_libc_version");
    this.#readAll(object, frames, fixed);
    this.#markTargets();
  }

  /** Returns the instruction that begins at an offset, or −1. */
  instructionAt(offset: number): number {
    if (offset < 0 || offset >= this.bytes.length) return -1;
    const word = this.#starts[offset >> 5];
    const bit = 1 << (offset & 31);
    return (word & bit) === 0 ? -1 : this.#firstOfWord[offset >> 5] + bitsIn(word & (bit - 1));
  }

  isLeader(offset: number): boolean {
    const i = this.instructionAt(offset);
    return i < 0 ? this.#startsOutside.has(offset) : (this.traits[i] & TRAIT.leader) !== 0;
  }

  functionAt(offset: number): number {
    const found = this.functionAround(offset);
    return found >= 0 && this.functions[found].start === offset ? found : -1;
  }

  /** Returns the function that contains an offset, or −1. */
  functionAround(offset: number): number {
    const found = this.lastFunction(offset);
    return found >= 0 && offset < this.functions[found].end ? found : -1;
  }

  /** Returns the last function that begins at or before an offset, or −1. */
  lastFunction(offset: number): number {
    let low = 0;
    let high = this.functions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.functions[middle].start <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #readAll(object: ObjectFile, frames: readonly FrameEntry[], fixed: ReadonlySet<number>): void {
    const instruction = new Instruction();
    let reached = 0;
    for (const frame of frames) {
      const start = frame.start - this.base;
      const end = start + frame.size;
      const exceptions = frame.lsda === undefined ? undefined : readExceptionTable(object, frame.lsda);
      const isKept = (reason: keyof LeftAlone): void => {
        this.leftAlone[reason]++;
        this.#startsOutside.add(start);
        this.#followOutside(start, Math.min(end, this.bytes.length), instruction);
      };
      if (isSignalFrame(frame.cie) || this.stubs.has(start)) isKept("special");
      else if (fixed.has(frame.start)) isKept("returnAddresses");
      else if (start < reached || end > this.bytes.length) isKept("overlapping");
      else if (!canMoveFrame(frame, exceptions)) isKept("exceptions");
      else if (this.#readFunction({ frame, start, end, exceptions }, instruction)) reached = end;
      else isKept("undecodable");
    }
  }

  #readFunction(entry: Omit<CodeFunction, "first" | "last">, instruction: Instruction): boolean {
    const { start, end, exceptions } = entry;
    const { bytes, offsets, lengths, opcodes, flows, traits, reads, kills, targets, relativeAt } = this;
    const first = this.count;
    let at = start;
    let i = first;
    try {
      for (; at < end; i++) {
        decode(bytes, at, instruction);
        const { length, flow, access, implicit } = instruction;
        offsets[i] = at;
        lengths[i] = length;
        opcodes[i] = instruction.opcode;
        flows[i] = flow;
        const isHidden = implicit === IMPLICIT.maskmov || implicit === IMPLICIT.xlat;
        traits[i] = (access !== 0 || isHidden ? TRAIT.access : 0) | (isNop(instruction) ? TRAIT.nop : 0);
        reads[i] = instruction.reads;
        kills[i] = instruction.kills;
        targets[i] = hasTarget(flow) ? at + length + instruction.distance : 0;
        const isRelative = access !== 0 && instruction.base === INSTRUCTION_POINTER;
        relativeAt[i] = isRelative ? instruction.displacementAt : 0;
        at += length;
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      return false;
    }
    if (at !== end) return false;
    for (let index = first; index < i; index++) {
      const word = offsets[index] >> 5;
      if (this.#starts[word] === 0) this.#firstOfWord[word] = index;
      this.#starts[word] |= 1 << (offsets[index] & 31);
    }
    traits[first] |= TRAIT.leader;
    this.count = i;
    for (const { landingPad } of exceptions?.callSites ?? [])
      if (landingPad !== 0) this.mark(start + landingPad, TRAIT.leader);
    this.functions.push({ ...entry, first, last: i });
    return true;
  }

  /** Records the targets of code that is not rewritten, up to the first undecodable byte. */
  #followOutside(start: number, end: number, instruction: Instruction): void {
    try {
      for (let at = start; at < end; at += instruction.length) {
        decode(this.bytes, at, instruction);
        if (hasTarget(instruction.flow))
          this.reachedFromOutside.push(at + instruction.length + instruction.distance);
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
  }

  #markTargets(): void {
    for (const offset of this.reachedFromOutside) this.mark(offset, TRAIT.leader);
    const { count, flows, targets } = this;
    for (let i = 0; i < count; i++) if (hasTarget(flows[i])) this.mark(targets[i], TRAIT.leader);
  }

  /** Returns false if no instruction begins at the offset. */
  mark(offset: number, trait: number): boolean {
    const i = this.instructionAt(offset);
    if (i < 0) return false;
    if ((trait & ~this.traits[i] & TRAIT.label) !== 0) this.labels.push(offset);
    this.traits[i] |= trait;
    return true;
  }
}

function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Returns true for instructions without effect. `pause` and `endbr64` are no nops. */
export function isNop({ opcode, repeated }: Instruction): boolean {
  return opcode === LONG_NOP || (opcode === NOP && !repeated);
}

/** Returns the length of a nop or trap that fills space between functions; 0 if there is none. */
export function fillerBytes(bytes: Uint8Array, at: number, instruction: Instruction): number {
  if (bytes[at] === TRAP) return 1;
  try {
    decode(bytes, at, instruction);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return 0;
  }
  return isNop(instruction) ? instruction.length : 0;
}

/** Returns true if control never continues after an instruction with this flow. */
export function endsPath(flow: number): boolean {
  return flow === FLOW.jump || flow === FLOW.return || flow === FLOW.indirectJump || flow === FLOW.trap;
}

function wholeCode(object: ObjectFile, base: number, size: number): Uint8Array {
  const bytes = object.bytesAt(base, size);
  if (bytes.length === size) return bytes;
  // Bytes between several code segments stay 0: they are no instructions.
  const whole = new Uint8Array(size);
  for (const { address, fileSize } of object.segments) {
    const from = Math.max(address, base);
    const to = Math.min(address + fileSize, base + size);
    if (from < to) whole.set(object.bytesAt(from, to - from), from - base);
  }
  return whole;
}

function unsupported(detail: string): FormatError {
  return new FormatError("unsupported", 0, "ELF file", detail);
}

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa];
const BND = 0xf2;
/** `jmp *slot(%rip)`, with a 4-byte displacement after these bytes. */
const JUMP_BY_SLOT = [0xff, 0x25];
const DISTANCE_BYTES = 4;

/** PLT stubs, which jump to the address that the dynamic linker has stored in a slot. */
export class Stubs {
  readonly #object: ObjectFile;
  readonly #base: number;
  readonly #ranges: readonly { start: number; end: number }[];

  /** @param base address (SVMA) from which offsets count */
  constructor(object: ObjectFile, base: number) {
    this.#object = object;
    this.#base = base;
    this.#ranges = object.sections
      .filter(({ name }) => name === ".plt" || name.startsWith(".plt."))
      .map(({ address, size }) => ({ start: address - base, end: address - base + size }));
  }

  has(offset: number): boolean {
    return this.#ranges.some(({ start, end }) => offset >= start && offset < end);
  }

  /**
   * Returns the address (SVMA) of the slot that the stub at an offset jumps through; undefined if the stub
   * does anything before.
   */
  slotOf(offset: number): number | undefined {
    if (!this.has(offset)) return undefined;
    const address = this.#base + offset;
    const bytes = this.#object.bytesAt(address, 16);
    let at = ENDBR64.every((byte, i) => bytes[i] === byte) ? ENDBR64.length : 0;
    if (bytes[at] === BND) at++;
    if (JUMP_BY_SLOT.some((byte, i) => bytes[at + i] !== byte)) return undefined;
    at += JUMP_BY_SLOT.length;
    if (at + DISTANCE_BYTES > bytes.length) return undefined;
    const view = viewOf(bytes);
    return address + at + DISTANCE_BYTES + view.getInt32(at, true);
  }
}

/**
 * A range of a function in which exceptions lead to a landing pad or to the caller. Offsets from the
 * function's start.
 */
interface CallSite {
  readonly start: number;
  readonly end: number;
  /** 0: none */
  readonly landingPad: number;
  /** 1 + offset in the table of actions; 0: cleanups only */
  readonly action: number;
}

/**
 * A function's exception table (LSDA), as GCC and Clang write it: Itanium C++ ABI, "Exception Handling
 * Tables".
 */
export interface ExceptionTable {
  readonly callSites: readonly CallSite[];
  readonly actions: Uint8Array;
  readonly typeEncoding: number;
  /** Addresses (SVMA) in the table of types, 0 for "any". The first one is number 1. */
  readonly types: readonly number[];
  /** Lists of types that a function may throw, stored behind the table of types. */
  readonly specifications: Uint8Array;
}

/** Larger than the table of any compiler. */
const MOST_BYTES = 1 << 20;

/** Returns undefined if the table cannot be read. */
function readExceptionTable(object: ObjectFile, address: number): ExceptionTable | undefined {
  const bytes = object.bytesAt(address, MOST_BYTES);
  // Indirect pointers to types are copied as they are, so their targets are not read.
  const cursor = new CfiCursor({ kind: "eh_frame", bytes, address, addressSize: 8 });
  cursor.end = bytes.length;
  // The landing pads are outside the function.
  if (cursor.unsigned(1) !== DW_EH_PE.omit) return undefined;
  const typeEncoding = cursor.unsigned(1);
  const typesFrom = typeEncoding === DW_EH_PE.omit ? undefined : cursor.uleb();
  const typesAt = typesFrom === undefined ? undefined : cursor.position + typesFrom;
  const encoding = cursor.unsigned(1);
  const length = cursor.uleb();
  const end = cursor.position + length;
  if (!(end <= cursor.end)) return undefined;
  const callSites: CallSite[] = [];
  while (cursor.position < end) {
    const start = cursor.encodedValue(encoding);
    const size = cursor.encodedValue(encoding);
    const landingPad = cursor.encodedValue(encoding);
    callSites.push({ start, end: start + size, landingPad, action: cursor.uleb() });
  }
  if (cursor.position !== end) return undefined;
  return readTypes(cursor, callSites, end, typeEncoding, typesAt);
}

function readTypes(
  cursor: CfiCursor,
  callSites: readonly CallSite[],
  actionsAt: number,
  typeEncoding: number,
  typesAt: number | undefined,
): ExceptionTable | undefined {
  const filters = new Set<number>();
  let actionsEnd = actionsAt;
  const seen = new Set<number>();
  for (const { action } of callSites)
    for (let at = actionsAt + action - 1; action > 0 && !seen.has(at); ) {
      seen.add(at);
      cursor.position = at;
      filters.add(cursor.sleb());
      const next = cursor.position;
      const distance = cursor.sleb();
      if (!(cursor.position <= cursor.end)) return undefined;
      actionsEnd = Math.max(actionsEnd, cursor.position);
      if (distance === 0) break;
      at = next + distance;
    }
  const actions = cursor.bytes.slice(actionsAt, actionsEnd);
  const empty = { callSites, actions, typeEncoding, types: [], specifications: new Uint8Array(0) };
  if (typesAt === undefined || typesAt > cursor.end)
    return filters.size > 0 && filters.has(1) ? undefined : empty;

  let specificationsEnd = typesAt;
  let last = Math.max(0, ...filters);
  for (const filter of filters) {
    if (filter >= 0) continue;
    cursor.position = typesAt - filter - 1;
    for (let type = cursor.uleb(); type > 0; type = cursor.uleb()) last = Math.max(last, type);
    if (!(cursor.position <= cursor.end)) return undefined;
    specificationsEnd = Math.max(specificationsEnd, cursor.position);
  }
  const size = pointerBytes(typeEncoding);
  if (size === undefined || !(last * size <= typesAt)) return undefined;
  const types: number[] = [];
  for (let number = 1; number <= last; number++) {
    cursor.position = typesAt - number * size;
    const isNull = cursor.encodedValue(typeEncoding) === 0;
    cursor.position = typesAt - number * size;
    types.push(isNull ? 0 : cursor.encodedPointer(typeEncoding & ~DW_EH_PE.indirect));
  }
  const specifications = cursor.bytes.slice(typesAt, specificationsEnd);
  return { callSites, actions, typeEncoding, types, specifications };
}

/** Returns true if a function's frame entry and exception table can be written for the new code. */
function canMoveFrame(frame: FrameEntry, exceptions: ExceptionTable | undefined): boolean {
  const { pointerEncoding, lsdaEncoding, addressSize } = frame.cie;
  if (addressSize !== 8 || pointerBytes(pointerEncoding) === undefined) return false;
  if (frame.lsda === undefined) return true;
  if (exceptions === undefined || pointerBytes(lsdaEncoding) === undefined) return false;
  return exceptions.types.length === 0 || pointerBytes(exceptions.typeEncoding) !== undefined;
}

/** Returns the bytes of a pointer with this encoding; undefined if the encoding cannot be written. */
export function pointerBytes(encoding: number): 4 | 8 | undefined {
  if (encoding === DW_EH_PE.omit) return undefined;
  const relative = encoding & 0x70;
  if (relative !== 0 && relative !== DW_EH_PE.pcrel) return undefined;
  switch (encoding & 0x0f) {
    case DW_EH_PE.sdata4:
    case DW_EH_PE.udata4:
      return 4;
    case DW_EH_PE.absptr:
    case DW_EH_PE.sdata8:
    case DW_EH_PE.udata8:
      return 8;
    default:
      return undefined;
  }
}

/** Writes a pointer to `value`. `address`: address of the writer's first byte, for relative encodings. */
export function writePointer(out: ByteWriter, encoding: number, value: number, address: number): void {
  const isRelative = (encoding & 0x70) === DW_EH_PE.pcrel;
  const stored = BigInt(isRelative ? value - (address + out.length) : value);
  out.u32(Number(BigInt.asIntN(32, stored)));
  if (pointerBytes(encoding) === 8) out.u32(Number(BigInt.asIntN(32, stored >> 32n)));
}
