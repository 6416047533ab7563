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
} from "../../../../code/x64/decode/index.ts";
import { GENERAL, RSP } from "../../../../code/x64/index.ts";
import type { Place } from "../../../../code/x64/operands.ts";
import { MERGED_BYTES } from "../../../tools/heap/layout.ts";
import { type Code, TRAIT } from "../../rewrite/code.ts";
import { FrameBases } from "../../rewrite/insertion/frame-bases.ts";
import {
  giveMaskedMovePlace,
  isStringInstruction,
  stringOperands,
} from "../../rewrite/insertion/string-instructions.ts";
import { type BlockView, type Insertion, inOrder } from "../../rewrite/plan.ts";
import { additionBytes, type Counted, REGISTERS } from "./counter-code.ts";
import { stringBytes } from "./string-code.ts";

/** Accesses of a block that reach near places by the same registers with the same values: one addition counts them. */
interface Group extends Counted {
  /** The addition may stand in front of each of these instructions. */
  from: number;
  to: number;
}

/** What one addition can add at most: an immediate of 31 bits has room for more, but blocks are not that long. */
const MOST_ADDED = 2 ** 24;
const EXCHANGE = [0x86, 0x87];

export interface HeapCounterOptions {
  /** Accesses by the stack pointer, and by the frame pointer where one is set up, are counted too. */
  includeStack: boolean;
}

/**
 * Counts accesses as the heap profiler of wasm modules does: each in the granule that it begins in;
 * a vector is one access, so is what reads and writes at once for all threads to see, and what string instructions do is one per 8
 * bytes. Not counted are static data (by rip), thread-local data (by a segment), what `push` and `call` write, and places that
 * vectors of indices tell.
 */
export class AccessGroups {
  readonly #includeStack: boolean;
  readonly #frames = new FrameBases();
  readonly #instruction = new Instruction();
  #open: Group[] = [];
  #insertions: Insertion[] = [];
  #view!: BlockView;

  constructor({ includeStack }: HeapCounterOptions) {
    this.#includeStack = includeStack;
  }

  /** What a block needs, in the order of its instructions. */
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

  #add(one: Group): void {
    const group = this.#open.find((other) => canShare(other, one));
    if (group === undefined) {
      this.#open.push(one);
      return;
    }
    group.accesses += one.accesses;
    group.reads ||= one.reads;
    group.to = one.to;
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

  /** String instructions reach what rsi and rdi point to. */
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
      { before: i, where: "last", bytes: before },
      { before: i, where: "behind", bytes: behind },
    );
  }
}

/**
 * @param isCLibrary a vector is one access for each 8 bytes: how long the vectors of `memset` are, and whether it has any, is the processor's
 * choice, and with `rep stos` it is one for each 8 bytes, too
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

function groupAt(register: number, i: number, how: Pick<Group, "reads" | "shortAddress">): Group {
  const place: Place = {
    kind: "place",
    base: GENERAL[register],
    index: undefined,
    scale: 1,
    displacement: 0,
  };
  return { place, ...how, uses: 1 << register, accesses: 1, from: i, to: i };
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

/** In front of which instruction the addition has to save the least: flags cost more than a register. */
function cheapestPlace({ from, to, uses }: Group, live: Int32Array, first: number): number {
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i <= to && least > 0; i++) {
    const taken = live[i - first];
    const cost = ((taken & FLAGS) === 0 ? 0 : 2) + (((taken | uses) & REGISTERS) === REGISTERS ? 1 : 0);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}
