import {
  ADDRESS_ONLY,
  decode,
  FLAGS,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  READ,
  SEGMENT,
  WRITE,
} from "../../../code/x64/decode/index.ts";
import { putInstruction } from "../../../code/x64/encode.ts";
import { GENERAL, place, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { int32, type Place, placeBytes } from "../../../code/x64/operands.ts";
import { MERGED_BYTES } from "../../../profile/model/run.ts";
import { COUNTERS, COUNTERS_BITS, GRANULE_SHIFT, WRITES, WRITES_BIT } from "../layout.ts";
import type { NativeTool, NativeToolOptions } from "../native-tool.ts";
import { type Code, TRAIT } from "../rewrite/code.ts";
import { FrameBases } from "../rewrite/insertion/frame-bases.ts";
import {
  GIVE_FLAGS,
  LEAVE_RED_ZONE,
  moveRegister,
  popBytes,
  pushBytes,
  RED_ZONE_BYTES,
  SKIP_RED_ZONE,
  TAKE_FLAGS,
} from "../rewrite/insertion/red-zone.ts";
import {
  elementBytes,
  giveMaskedMovePlace,
  isStringInstruction,
  putReached,
  type StringOperand,
  stringOperands,
} from "../rewrite/insertion/string-instructions.ts";
import { type BlockView, type Insertion, inOrder, type PlanBlock } from "../rewrite/plan.ts";

/** Returns the tool that counts accesses for the heap profiler. */
export function nativeHeap({ includeStack = false }: NativeToolOptions = {}): NativeTool {
  const groups = new AccessGroups({ includeStack });
  const plan: PlanBlock = Object.assign((block: BlockView) => groups.plan(block), { isWalked: true });
  return {
    name: "heap",
    key: includeStack ? "4s" : "4",
    plan,
    shadows: [{ address: COUNTERS, bytes: 2 ** COUNTERS_BITS }],
    slowPaths: 0,
    isCounting: true,
  };
}

/** Accesses counted by one addition, to the counter of the first access's address. */
interface Counted {
  place: Place;
  shortAddress: boolean;
  /** Mask of the registers in the address. */
  uses: number;
  accesses: number;
  reads: boolean;
}

/** Preference order for scratch registers: caller-saved ones first. rax, which saving the flags needs, follows them. */
const SCRATCH = [RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RAX, RBX, RBP, ...GENERAL.slice(12)].map(
  ({ number }) => number,
);
const REGISTERS = SCRATCH.reduce((mask, register) => mask | (1 << register), 0);
const RAX_BIT = 1 << RAX.number;

interface Taken {
  address: number;
  /** Register that holds rax while rax holds the flags. Undefined if rax is dead or no flag is live. */
  rax: number | undefined;
}

/**
 * Returns code that adds accesses to a counter. Live registers and flags keep their values.
 *
 * @param live mask of registers and flags
 */
function additionBytes(counted: Counted, live: number): number[] {
  const hasFlags = (live & FLAGS) !== 0;
  const isRaxNeeded = hasFlags && ((live | counted.uses) & RAX_BIT) !== 0;
  const free = SCRATCH.filter((register) => ((live | counted.uses) & (1 << register)) === 0).filter(
    (register) => !hasFlags || register !== RAX.number,
  );
  const least = isRaxNeeded ? 2 : 1;
  const saved: number[] = [];
  for (const register of SCRATCH) {
    if (free.length >= least) break;
    if (free.includes(register) || register === RAX.number || (counted.uses & (1 << register)) !== 0)
      continue;
    free.push(register);
    saved.push(register);
  }
  const rax = isRaxNeeded ? free.pop() : undefined;
  const moved = saved.length === 0 ? 0 : RED_ZONE_BYTES + 8 * saved.length;
  const bytes = addition(counted, { address: free[0], rax }, hasFlags, moved);
  if (saved.length === 0) return bytes;
  return [
    ...SKIP_RED_ZONE,
    ...saved.flatMap((register) => pushBytes(register)),
    ...bytes,
    ...saved.reverse().flatMap((register) => popBytes(register)),
    ...LEAVE_RED_ZONE,
  ];
}

/** `moved`: bytes by which the stack pointer is lowered. */
function addition(
  { place, shortAddress, accesses, reads }: Counted,
  { address, rax }: Taken,
  hasFlags: boolean,
  moved: number,
): number[] {
  const at = place.base === RSP ? { ...place, displacement: place.displacement + moved } : place;
  const flagsOut = hasFlags
    ? [...(rax === undefined ? [] : moveRegister(RAX.number, rax)), ...TAKE_FLAGS]
    : [];
  const flagsIn = hasFlags
    ? [...GIVE_FLAGS, ...(rax === undefined ? [] : moveRegister(rax, RAX.number))]
    : [];
  return [
    ...addressOf(at, shortAddress, address),
    ...flagsOut,
    ...shiftRight(address),
    ...(reads ? [] : flipWritesBit(address)),
    ...addTo(address, accesses, reads ? COUNTERS : WRITES),
    ...flagsIn,
  ];
}

/** `lea place, register` */
function addressOf(place: Place, shortAddress: boolean, register: number): number[] {
  const { base, index } = place;
  const rex = 0x48 | ((register >> 3) << 2) | (((index?.number ?? 0) >> 3) << 1) | ((base?.number ?? 0) >> 3);
  return [...(shortAddress ? [0x67] : []), rex, 0x8d, ...placeBytes(place, register)];
}

/** `shr $3, register` */
function shiftRight(register: number): number[] {
  return [0x48 | (register >> 3), 0xc1, 0xe8 | (register & 7), GRANULE_SHIFT];
}

/** `btc $WRITES_BIT, register` */
function flipWritesBit(register: number): number[] {
  return [0x48 | (register >> 3), 0x0f, 0xba, 0xf8 | (register & 7), WRITES_BIT];
}

/** `add $accesses, counter` */
function addTo(index: number, accesses: number, displacement: number): number[] {
  const rex = index > 7 ? [0x42] : [];
  const isShort = accesses < 128;
  return [
    ...rex,
    isShort ? 0x83 : 0x81,
    ...placeBytes({ kind: "place", base: undefined, index: GENERAL[index], scale: 4, displacement }, 0),
    ...(isShort ? [accesses] : int32(accesses)),
  ];
}

const [PUSH_RAX, PUSH_RCX, PUSH_RDI, POP_RAX, POP_RCX, POP_RDI] = [0x50, 0x51, 0x57, 0x58, 0x59, 0x5f];
const SAVE = [PUSH_RAX, ...TAKE_FLAGS, PUSH_RAX, PUSH_RCX, PUSH_RDI];
const RESTORE = [POP_RDI, POP_RCX, POP_RAX, ...GIVE_FLAGS, POP_RAX];
/** Size of the area that `SAVE` pushes, and offset of rdi in it, bytes. */
const SAVED_BYTES = 32;
const SAVED_RDI = 0;
const WORD_BYTES = 8;
const [EQUAL, BELOW] = [0x74, 0x72];

/** Skips code if a condition holds. */
function unless(condition: number, code: readonly number[]): number[] {
  return [condition, code.length, ...code];
}

/**
 * Adds one access to each 8-byte granule of the range at rdi, rcx bytes long. Overwrites rax, rcx, rdi and the flags.
 */
function countRange(isWritten: boolean): number[] {
  const counter = [0xbd, ...int32(isWritten ? WRITES : COUNTERS)];
  const addTwo = [0x48, 0x01, 0x04, ...counter];
  const addOne = [0x01, 0x04, ...counter];
  const body = [...addTwo, 0x48, 0x83, 0xc7, 2];
  // sub $2, rcx; jb; add to two counters at once; jmp back
  const turn = 4 + 2 + body.length + 2;
  return [
    // add $7, rcx; shr $3, rcx; shr $3, rdi
    0x48,
    0x83,
    0xc1,
    7,
    0x48,
    0xc1,
    0xe9,
    3,
    0x48,
    0xc1,
    0xef,
    GRANULE_SHIFT,
    // btc $WRITES_BIT, rdi
    ...(isWritten ? [0x48, 0x0f, 0xba, 0xff, WRITES_BIT] : []),
    // movabs $1 in both halves, rax
    0x48,
    0xb8,
    ...int32(1),
    ...int32(1),
    0x48,
    0x83,
    0xe9,
    2,
    ...unless(BELOW, [...body, 0xeb, -turn & 0xff]),
    // test $1, cl; jz: a last counter remains
    0xf6,
    0xc1,
    1,
    ...unless(EQUAL, addOne),
  ];
}

/**
 * Returns the code before and after a repeated string instruction. The range that it reached is known only afterwards.
 * Between the two parts the stack pointer stays lowered.
 */
function stringBytes(instruction: Instruction): { before: number[]; behind: number[] } {
  const operands = stringOperands(instruction);
  const count = ({ register, isWritten }: StringOperand, i: number): number[] => {
    const code: number[] = [];
    // The count of the first operand overwrites rdi.
    putInstruction(code, "mov", 8, [RCX, register === RDI ? place(RSP, SAVED_RDI) : register]);
    putReached((mnemonic, size, ...values) => putInstruction(code, mnemonic, size, values), {
      elementBytes: elementBytes(instruction),
      shortAddress: instruction.shortAddress,
      before: place(RSP, SAVED_BYTES + WORD_BYTES * (operands.length - 1 - i)),
      bytes: RCX,
      start: RDI,
      scratch: RAX,
    });
    return [...code, ...countRange(isWritten)];
  };
  const moved = RED_ZONE_BYTES + WORD_BYTES * operands.length;
  const before = [...SKIP_RED_ZONE, ...operands.flatMap(({ register }) => pushBytes(register.number))];
  const behind = [...SAVE, ...operands.flatMap(count), ...RESTORE];
  return { before, behind: [...behind, 0x48, 0x8d, 0xa4, 0x24, ...int32(moved)] };
}

/** Accesses of a block to nearby addresses with the same register values. One addition counts them all. */
interface Group extends Counted {
  /** First instruction before which the addition may be inserted; `to` is the last. */
  from: number;
  to: number;
}

/** Limit of one addition. An immediate could hold more, but no block is that long. */
const MOST_ADDED = 2 ** 24;
const EXCHANGE = [0x86, 0x87];

interface HeapCounterOptions {
  /** Counts accesses by the stack pointer, and by a frame pointer, too. */
  includeStack: boolean;
}

/**
 * Counts accesses like the heap profiler for WebAssembly: each in the granule in which it begins. A vector or an atomic
 * access counts once; a string instruction counts once per 8 bytes. Not counted: static data (relative to rip),
 * thread-local data (by segment), stores of `push` and `call`, and vectors of indices.
 */
class AccessGroups {
  readonly #includeStack: boolean;
  readonly #frames = new FrameBases();
  readonly #instruction = new Instruction();
  #open: Group[] = [];
  #insertions: Insertion[] = [];
  #view!: BlockView;

  constructor({ includeStack }: HeapCounterOptions) {
    this.#includeStack = includeStack;
  }

  plan(view: BlockView): readonly Insertion[] {
    const { code, first, last } = view;
    const instruction = this.#instruction;
    this.#view = view;
    this.#insertions = [];
    for (let i = first; i < last; i++) {
      const isString = isStringInstruction(code, i);
      if ((code.traits[i] & TRAIT.access) === 0 && this.#open.length === 0 && !isString) continue;
      decode(code.bytes, code.offsets[i], instruction);
      giveMaskedMovePlace(instruction);
      if (isString) this.#string(i);
      else if (this.#isCounted(code, i)) this.#add(groupOf(instruction, i, code.isCLibrary));
      if (this.#open.length > 0) this.#closeWritten(instruction.writes);
    }
    for (const group of this.#open) this.#close(group);
    this.#open = [];
    return inOrder(this.#insertions);
  }

  #isCounted(code: Code, i: number): boolean {
    const { access, segment, vectorIndex, base, index } = this.#instruction;
    if (access === 0 || (access & ADDRESS_ONLY) !== 0 || segment !== SEGMENT.none || vectorIndex)
      return false;
    if (base === INSTRUCTION_POINTER) return false;
    if (!this.#includeStack && (base === RSP.number || this.#frames.isFrameBase(code, i, base))) return false;
    return base !== NO_REGISTER || index !== NO_REGISTER;
  }

  #add(added: Group): void {
    const group = this.#open.find((other) => canShare(other, added));
    if (group === undefined) {
      this.#open.push(added);
      return;
    }
    group.accesses += added.accesses;
    group.reads ||= added.reads;
    group.to = added.to;
  }

  #closeWritten(writes: number): void {
    this.#open = this.#open.filter((group) => {
      if ((group.uses & writes) === 0) return true;
      this.#close(group);
      return false;
    });
  }

  #close(group: Group): void {
    const { first, live } = this.#view;
    const before = cheapestPlace(group, live, first);
    this.#insertions.push({ before, bytes: additionBytes(group, live[before - first]) });
  }

  #string(i: number): void {
    const { repeated, shortAddress } = this.#instruction;
    const operands = stringOperands(this.#instruction);
    if (operands.length === 0) return;
    if (!repeated) {
      for (const { register, isWritten } of operands)
        this.#add(groupAt(register.number, i, { reads: !isWritten, shortAddress }));
      return;
    }
    const { before, behind } = stringBytes(this.#instruction);
    this.#insertions.push(
      { before: i, position: "last", bytes: before },
      { before: i, position: "behind", bytes: behind },
    );
  }
}

/**
 * @param isCLibrary a vector counts once per 8 bytes, like `rep stos`. The C library picks vectors by processor, and
 * counts must not depend on that.
 */
function groupOf(instruction: Instruction, i: number, isCLibrary: boolean): Group {
  const { base, index, scale, displacement, shortAddress, access, locked, opcode } = instruction;
  const register = (number: number) => (number === NO_REGISTER ? undefined : GENERAL[number]);
  const place: Place = {
    kind: "place",
    base: register(base),
    index: register(index),
    scale: scale as Place["scale"],
    displacement,
  };
  const uses = (base === NO_REGISTER ? 0 : 1 << base) | (index === NO_REGISTER ? 0 : 1 << index);
  const isAtomic = locked || EXCHANGE.includes(opcode);
  const words = isCLibrary ? Math.max(1, Math.ceil(instruction.size / 8)) : 1;
  const accesses = words * (isAtomic || access !== (READ | WRITE) ? 1 : 2);
  return { place, shortAddress, uses, accesses, reads: (access & READ) !== 0, from: i, to: i };
}

function groupAt(register: number, i: number, access: Pick<Group, "reads" | "shortAddress">): Group {
  const place: Place = {
    kind: "place",
    base: GENERAL[register],
    index: undefined,
    scale: 1,
    displacement: 0,
  };
  return { place, ...access, uses: 1 << register, accesses: 1, from: i, to: i };
}

function canShare(group: Group, { place, shortAddress, accesses }: Group): boolean {
  const { place: other } = group;
  return (
    other.base === place.base &&
    other.index === place.index &&
    other.scale === place.scale &&
    group.shortAddress === shortAddress &&
    Math.abs(other.displacement - place.displacement) < MERGED_BYTES &&
    group.accesses + accesses <= MOST_ADDED
  );
}

/** Returns the instruction before which an addition saves the least. Saving flags costs more than saving a register. */
function cheapestPlace({ from, to, uses }: Group, live: Int32Array, first: number): number {
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i <= to && least > 0; i++) {
    const liveMask = live[i - first];
    const cost = ((liveMask & FLAGS) === 0 ? 0 : 2) + (((liveMask | uses) & REGISTERS) === REGISTERS ? 1 : 0);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}
