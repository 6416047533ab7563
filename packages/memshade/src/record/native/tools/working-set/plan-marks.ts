import {
  ADDRESS_ONLY,
  decode,
  FLOW,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  READ,
  SEGMENT,
  WRITE,
} from "../../../../code/x64/decode/index.ts";
import { putInstruction } from "../../../../code/x64/encode.ts";
import {
  Assembler,
  GENERAL,
  place,
  R8,
  R9,
  R10,
  R11,
  RAX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
  relative,
} from "../../../../code/x64/index.ts";
import { int32, type Operand, type Place, placeBytes } from "../../../../code/x64/operands.ts";
import type { NativeTool, NativeToolOptions } from "../../native-tool.ts";
import { type Code, TRAIT } from "../../rewrite/code.ts";
import { FrameBases } from "../../rewrite/insertion/frame-bases.ts";
import {
  LEAVE_RED_ZONE,
  pushBytes,
  RED_ZONE_BYTES,
  SKIP_RED_ZONE,
} from "../../rewrite/insertion/red-zone.ts";
import {
  elementBytes,
  giveMaskedMovePlace,
  isStringInstruction,
  putReached,
  type StringOperand,
  stringOperands,
} from "../../rewrite/insertion/string-instructions.ts";
import {
  type BlockView,
  type InsertedDistance,
  type Insertion,
  inOrder,
  type PlanBlock,
} from "../../rewrite/plan.ts";
import { systemCall } from "../../start/system-calls.ts";
import {
  Clock,
  CONTROL_BYTES,
  LINE_SHIFT,
  MARK_BYTES,
  MARKS,
  OWNED_PAGES_BIT,
  OWNED_PAGES_BITS,
  OWNERS_BIT,
  OWNERS_BITS,
  PATIENCE,
  READ_MARK,
  SHARED,
  SHARED_UNITS,
  WRITTEN_MARK,
} from "./layout.ts";
import { DISTANCE_AT, markLines, markPlaces, type Planes, renamed, TouchedSpans } from "./mark-code.ts";
import { cheapestPlace, type ScratchCode, withFlags, withScratch } from "./scratch-registers.ts";

/** Version of the inserted code. Change it with each change of that code. */
const KEY = "lines5";

/** Returns the tool that marks touched lines. It counts accesses, too, if intervals are measured in accesses. */
export function nativeWorkingSet({
  isCounting = false,
  isOwned = false,
}: NativeToolOptions = {}): NativeTool {
  const planner = new MarkPlanner(isCounting);
  const plan: PlanBlock = Object.assign((block: BlockView) => planner.plan(block), {
    isWalked: true,
    ...(isCounting ? { common: awaitNextInterval() } : {}),
  });
  return {
    name: "working-set",
    key: isCounting ? `${KEY}c` : KEY,
    plan,
    isWatched: isCounting,
    isMarking: true,
    keptBytes: CONTROL_BYTES,
    isOwned,
    shadows: [
      { address: SHARED, bytes: SHARED_UNITS * CONTROL_BYTES },
      ...(isOwned
        ? [
            { address: 2 ** OWNERS_BIT, bytes: 2 ** OWNERS_BITS },
            { address: 2 ** OWNED_PAGES_BIT, bytes: 2 ** OWNED_PAGES_BITS },
          ]
        : []),
    ],
    slowPaths: 0,
  };
}

const LINE_BYTES = 2 ** LINE_SHIFT;
/** Limit of addresses that instructions of a non-relocatable program can contain. */
const LOW_ADDRESSES = 2 ** 31;
const REGISTERS = 16;
const EXCHANGE = [0x86, 0x87];

/**
 * Plans marks of accesses. Excluded: stack accesses by rsp or the frame pointer, accesses by segment or vector of
 * indices, and those of `push`, `pop` and calls. If a block is entered only from the previous one, lines that are
 * already marked are not marked again.
 */
class MarkPlanner {
  readonly #frames = new FrameBases();
  readonly #instruction = new Instruction();
  /** Position after the last write of each register. */
  readonly #written = new Int32Array(REGISTERS);
  readonly #isCounting: boolean;
  #view!: BlockView;
  #insertions: Insertion[] = [];
  #accesses = 0;
  /** Open spans by registers. Spans of earlier blocks may be included. */
  #open = new Map<string, TouchedSpans[]>();
  /**
   * Touched lines of static data by line number: of this block, and in `#markedStatics` of the blocks that lead here.
   */
  #statics = new Map<number, Planes>();
  readonly #markedStatics = new Map<number, Planes>();

  constructor(isCounting: boolean) {
    this.#isCounting = isCounting;
  }

  /** Returns the insertions of a block. Call it for blocks in the order of the code. */
  plan(view: BlockView): readonly Insertion[] {
    const { code, first, last } = view;
    if (!this.#goesOn(view)) {
      this.#open.clear();
      this.#markedStatics.clear();
    }
    this.#view = view;
    this.#insertions = [];
    this.#accesses = 0;
    this.#written.fill(first);
    for (let i = first; i < last; i++) this.#visit(code, i);
    for (const group of this.#open.values()) for (const spans of group) this.#close(spans);
    this.#markStatics();
    if (this.#isCounting && this.#accesses > 0) this.#count();
    return inOrder(this.#insertions);
  }

  /** True if the block is entered only from the previous block. */
  #goesOn({ code, first }: BlockView): boolean {
    const before = this.#view;
    if (before?.code !== code || before.last !== first) return false;
    const flow = code.flows[first - 1];
    return flow === FLOW.branch && (code.traits[first] & (TRAIT.leader | TRAIT.label)) === 0;
  }

  #visit(code: Code, i: number): void {
    const isString = isStringInstruction(code, i);
    const isQuiet = (code.traits[i] & TRAIT.access) === 0 && !isString;
    if (isQuiet && this.#open.size === 0) {
      // The instruction is not decoded, so all registers count as written.
      this.#written.fill(i + 1);
      return;
    }
    const instruction = this.#instruction;
    decode(code.bytes, code.offsets[i], instruction);
    giveMaskedMovePlace(instruction);
    const isMarked = isString || this.#isMarked(code, i);
    if (isString) this.#insertions.push(...markStrings(instruction, i));
    else if (isMarked) this.#touch(code, i);
    if (isMarked) this.#accesses += accessesOf(instruction);
    const { writes } = instruction;
    for (const [key, group] of this.#open)
      if ((group[0].uses & writes) !== 0) {
        for (const spans of group) this.#close(spans);
        this.#open.delete(key);
      }
    for (let register = 0; register < REGISTERS; register++)
      if ((writes & (1 << register)) !== 0) this.#written[register] = i + 1;
  }

  #isMarked(code: Code, i: number): boolean {
    const { access, segment, vectorIndex, base, index, displacement } = this.#instruction;
    if (access === 0 || (access & ADDRESS_ONLY) !== 0 || segment !== SEGMENT.none || vectorIndex)
      return false;
    if (base === RSP.number || this.#frames.isFrameBase(code, i, base)) return false;
    const hasRegister = base !== NO_REGISTER || index !== NO_REGISTER;
    return hasRegister || (displacement > 0 && displacement < LOW_ADDRESSES);
  }

  #touch(code: Code, i: number): void {
    const { access, base, index, scale, displacement, size, shortAddress, length } = this.#instruction;
    const bytes = Math.max(size, 1);
    if (base === INSTRUCTION_POINTER || (base === NO_REGISTER && index === NO_REGISTER)) {
      const from = base === NO_REGISTER ? 0 : code.base + code.offsets[i] + length;
      for (const line of linesOf(from + displacement, bytes))
        this.#statics.set(line, (this.#statics.get(line) ?? 0) | access);
      return;
    }
    const key = `${base} ${index} ${scale} ${shortAddress}`;
    const group = this.#open.get(key) ?? [];
    if (group.some((spans) => spans.add(i, displacement, bytes, access))) return;
    const spans = this.#spansHere();
    spans.add(i, displacement, bytes, access);
    group.push(spans);
    this.#open.set(key, group);
  }

  #spansHere(): TouchedSpans {
    const { base, index, scale, shortAddress: isShort } = this.#instruction;
    const register = (number: number) => (number === NO_REGISTER ? undefined : GENERAL[number]);
    const mask = (number: number) => (number === NO_REGISTER ? 0 : 1 << number);
    const written = (number: number) => (number === NO_REGISTER ? 0 : this.#written[number]);
    return new TouchedSpans(
      { base: register(base), index: register(index), scale: scale as Place["scale"], isShort },
      mask(base) | mask(index),
      Math.max(written(base), written(index), this.#view.first),
    );
  }

  #close(spans: TouchedSpans): void {
    if (spans.isMarked) return;
    spans.isMarked = true;
    const marks = spans.marks();
    this.#insert(spans.from, spans.to, spans.uses, (register, holderOf) =>
      markPlaces(renamed(spans.registers, holderOf), marks, register),
    );
  }

  /** Marks lines of static data, whose distances from each other are known. */
  #markStatics(): void {
    const { code, first, last } = this.#view;
    const marked = this.#markedStatics;
    // Distances must not be positive: no displacement reaches beyond the address of the first marks.
    const lines = [...this.#statics]
      .filter(([line, planes]) => (planes & ~(marked.get(line) ?? 0)) !== 0)
      .sort(([a], [b]) => b - a);
    this.#statics = new Map();
    if (lines.length === 0) return;
    const [base] = lines[0];
    const lineOffsets = lines.map(([line, planes]) => ({ line: line - base, planes }));
    for (const [line, planes] of lines) marked.set(line, planes | (marked.get(line) ?? 0));
    const target = base * LINE_BYTES - code.base;
    this.#insert(first, last - 1, 0, (register) => markLines(lineOffsets, register), target);
  }

  /** Counts all accesses of the block at once, since a block runs to its end. */
  #count(): void {
    const { first, last, live } = this.#view;
    const liveBefore = (i: number): number => live[i - first];
    const before = cheapestPlace(first, last - 1, 0, liveBefore);
    const { bytes, cold, distances } = countDown(this.#accesses);
    const saved = withFlags(liveBefore(before), bytes);
    this.#insertions.push({
      before,
      bytes: saved.bytes,
      cold,
      distances: distances.map((distance) => ({
        ...distance,
        at: distance.at + (distance.part === "bytes" ? saved.before : 0),
        offset: distance.offset + (distance.to === "bytes" ? saved.before : 0),
      })),
    });
  }

  /** `target`: offset in the code that the generated displacement must reach. */
  #insert(from: number, to: number, uses: number, code: ScratchCode, target?: number): void {
    const { first, live } = this.#view;
    const liveBefore = (i: number): number => live[i - first];
    const before = cheapestPlace(from, to, uses, liveBefore);
    const { bytes, before: at } = withScratch(liveBefore(before), uses, code);
    if (target === undefined) this.#insertions.push({ before, bytes });
    else {
      const distance = { part: "bytes", at: at + DISTANCE_AT, tail: 0, to: "old", offset: target } as const;
      this.#insertions.push({ before, bytes, distances: [distance] });
    }
  }
}

/** Counts like the heap profiler: an atomic access or a string instruction counts once. */
function accessesOf({ access, locked, opcode, implicit }: Instruction): number {
  const isOne = locked || EXCHANGE.includes(opcode) || implicit !== IMPLICIT.none;
  return !isOne && access === (READ | WRITE) ? 2 : 1;
}

function linesOf(address: number, bytes: number): number[] {
  const first = Math.floor(address / LINE_BYTES);
  const last = Math.floor((address + bytes - 1) / LINE_BYTES);
  return first === last ? [first] : [first, last];
}

const FUTEX = 202;
const [WAIT, WAKE] = [0, 1];
const TIMED_OUT = -110;
/** Larger than any count of accesses. */
const FOREVER = 2n ** 62n;
const [CALL, JUMP] = [0xe8, 0xe9];
const IF_NEGATIVE = [0x0f, 0x88];
const SUBTRACT_PLACE = 5;
/** Registers that system calls use or overwrite. */
const KEPT = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11];

const accessesLeft = place(undefined, SHARED + Clock.left);
const isWatched = place(undefined, SHARED + Clock.isWatched);
const requested = place(undefined, SHARED + Clock.asked);
const answered = place(undefined, SHARED + Clock.answered);

const WAIT_AND_RETURN = [...SKIP_RED_ZONE, CALL, ...int32(0), ...LEAVE_RED_ZONE, JUMP, ...int32(0)];

/** Subtracts accesses from the open interval, and calls the routine if the result is negative. Overwrites the flags. */
function countDown(accesses: number): {
  bytes: number[];
  cold: readonly number[];
  distances: InsertedDistance[];
} {
  const isShort = accesses < 128;
  const subtraction = [
    0x48,
    isShort ? 0x83 : 0x81,
    ...placeBytes(accessesLeft, SUBTRACT_PLACE),
    ...(isShort ? [accesses] : int32(accesses)),
  ];
  const bytes = [...subtraction, ...IF_NEGATIVE, ...int32(0)];
  return {
    bytes,
    cold: WAIT_AND_RETURN,
    distances: [
      { part: "bytes", at: bytes.length - 4, tail: 0, to: "cold", offset: 0 },
      { part: "cold", at: SKIP_RED_ZONE.length + 1, tail: 0, to: "common", offset: 0 },
      { part: "cold", at: WAIT_AND_RETURN.length - 4, tail: 0, to: "bytes", offset: bytes.length },
    ],
  };
}

/** Emits the routine that waits until the interval has ended; a file has one. Overwrites the flags. */
function awaitNextInterval(): Uint8Array {
  const asm = new Assembler();
  const [again, alone, done] = [asm.label(), asm.label(), asm.label()];
  for (const register of KEPT) asm.put("push", 8, register);
  asm.bind(again);
  asm.put("cmp", 4, isWatched, 0);
  asm.jump(alone, "e");
  asm.put("mov", 4, RDX, answered);
  asm.put("cmp", 8, accessesLeft, 0);
  asm.jump(done, "ge");
  asm.put("mov", 4, requested, 1);
  asm.put("push", 8, RDX);
  asm.put("mov", 4, RDI, SHARED + Clock.asked);
  asm.put("mov", 4, RSI, WAKE);
  asm.put("mov", 4, RDX, 1);
  systemCall(asm, FUTEX);
  asm.put("pop", 8, RDX);
  asm.put("mov", 4, RDI, SHARED + Clock.answered);
  asm.put("mov", 4, RSI, WAIT);
  asm.put(
    "lea",
    8,
    R10,
    relative(asm.literal(Uint8Array.from([...int32(PATIENCE), ...new Array(12).fill(0)]))),
  );
  systemCall(asm, FUTEX);
  asm.put("cmp", 8, RAX, TIMED_OUT);
  asm.jump(again, "ne");
  asm.put("mov", 4, isWatched, 0);
  asm.bind(alone);
  asm.put("movabs", 8, RAX, FOREVER);
  asm.put("mov", 8, accessesLeft, RAX);
  asm.bind(done);
  for (const register of KEPT.toReversed()) asm.put("pop", 8, register);
  asm.put("ret", 8);
  return asm.finish().bytes;
}

const [PUSH_FLAGS, POP_FLAGS] = [0x9c, 0x9d];
const [PUSH_RAX, PUSH_RCX, PUSH_RDX, POP_RAX, POP_RCX, POP_RDX] = [0x50, 0x51, 0x52, 0x58, 0x59, 0x5a];
const SAVE = [PUSH_FLAGS, PUSH_RAX, PUSH_RCX, PUSH_RDX];
const RESTORE = [POP_RDX, POP_RCX, POP_RAX, POP_FLAGS];
const WORD_BYTES = 8;
const [EQUAL, NOT_ABOVE] = [0x74, 0x76];

/** Marks the lines that a string instruction accesses. For a repeated one, the range is known only afterwards. */
function markStrings(instruction: Instruction, i: number): Insertion[] {
  const operands = stringOperands(instruction);
  if (operands.length === 0) return [];
  if (!instruction.repeated) {
    const marks = operands.flatMap((operand) => markFirst(operand, instruction));
    return [{ before: i, bytes: [...SKIP_RED_ZONE, ...SAVE, ...marks, ...RESTORE, ...LEAVE_RED_ZONE] }];
  }
  const pushedBytes = WORD_BYTES * operands.length;
  const marks = operands.flatMap((operand, at) =>
    markReached(operand, instruction, WORD_BYTES * SAVE.length + pushedBytes - WORD_BYTES * (at + 1)),
  );
  const back = [0x48, 0x8d, 0xa4, 0x24, ...int32(RED_ZONE_BYTES + pushedBytes)];
  return [
    {
      before: i,
      position: "last",
      bytes: [...SKIP_RED_ZONE, ...operands.flatMap(({ register }) => pushBytes(register.number))],
    },
    { before: i, position: "behind", bytes: [...SAVE, ...marks, ...RESTORE, ...back] },
  ];
}

/** A single element is at most a word, which compilers align. */
function markFirst({ register, isWritten }: StringOperand, { shortAddress }: Instruction): number[] {
  return assembled((put) => {
    put("mov", shortAddress ? 4 : 8, RAX, register);
    put("shr", 8, RAX, LINE_SHIFT);
    put("mov", 1, markOf(RAX, isWritten), 1);
  });
}

/**
 * Marks all lines from the first to the last byte. @param keptAt offset from the stack pointer of the register's value
 * before the instruction
 */
function markReached(
  { register, isWritten }: StringOperand,
  instruction: Instruction,
  keptAt: number,
): number[] {
  const reached = assembled((put) => {
    put("mov", 8, RCX, register);
    putReached(put, {
      elementBytes: elementBytes(instruction),
      shortAddress: instruction.shortAddress,
      before: place(RSP, keptAt),
      bytes: RCX,
      start: RAX,
      scratch: RDX,
    });
    put("test", 8, RCX, RCX);
  });
  const lines = assembled((put) => {
    put("lea", 8, RCX, place(RAX, -1, RCX));
    put("shr", 8, RAX, LINE_SHIFT);
    put("shr", 8, RCX, LINE_SHIFT);
  });
  const turn = assembled((put) => {
    put("mov", 1, markOf(RAX, isWritten), 1);
    put("add", 8, RAX, 1);
    put("cmp", 8, RAX, RCX);
  });
  const marked = [...lines, ...turn, NOT_ABOVE, -(turn.length + 2) & 0xff];
  return [...reached, EQUAL, marked.length, ...marked];
}

function markOf(line: Register, isWritten: boolean) {
  return place(undefined, MARKS + (isWritten ? WRITTEN_MARK : READ_MARK), line, MARK_BYTES);
}

type Put = (mnemonic: string, size: 1 | 2 | 4 | 8, ...operands: readonly Operand[]) => void;

function assembled(write: (put: Put) => void): number[] {
  const code: number[] = [];
  write((mnemonic, size, ...operands) => putInstruction(code, mnemonic, size, operands));
  return code;
}
