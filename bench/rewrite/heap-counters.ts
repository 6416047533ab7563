import { TRAIT } from "../../packages/memshade/src/native/rewrite/code.ts";
import type { BlockView, Insertion } from "../../packages/memshade/src/native/rewrite/emit.ts";
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
} from "../../packages/memshade/src/x64/decode/index.ts";
import { GENERAL, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP } from "../../packages/memshade/src/x64/index.ts";
import { int32, type Place, placeBytes } from "../../packages/memshade/src/x64/operands.ts";

/** Where the counters lie: the one of an address is at `SHADOW + (address >> 3) * 4`, four bytes for every eight. */
export const SHADOW = 0x7fff8000;
/** Bytes of the counters for all addresses that a program has. */
export const SHADOW_BYTES = 2 ** 46;

const GRANULE_SHIFT = 3;
/** What one addition can add, and how far from its place accesses may lie that are added with it, in bytes. */
const MOST_ADDED = 127;
const NEAR = 4096;

/** Registers in the order in which dead ones are taken: those that calls overwrite stand first. */
const SCRATCH = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RBX, RBP, ...GENERAL.slice(12)].map(
  ({ number }) => number,
);
const REGISTERS = SCRATCH.reduce((mask, register) => mask | (1 << register), 0);

// Machine code that moves the stack pointer over what functions keep below it, and back; neither changes flags.
const SKIP_RED_ZONE = [0x48, 0x8d, 0x64, 0x24, 0x80];
const LEAVE_RED_ZONE = [0x48, 0x8d, 0xa4, 0x24, ...int32(128)];
const [PUSH, POP, PUSH_FLAGS, POP_FLAGS] = [0x50, 0x58, 0x9c, 0x9d];

/** Accesses of a block that reach near places by the same registers with the same values: one addition counts them. */
interface Group {
  place: Place;
  shortAddress: boolean;
  /** mask of the registers of its place */
  uses: number;
  accesses: number;
  /** The addition may stand in front of each of these instructions. */
  from: number;
  to: number;
}

const instruction = new Instruction();

/**
 * A tool for the rewriter that counts the accesses of the heap, which are taken to be those by operands with a register other than
 * rsp. Not counted are static data (by rip), thread-local data (by a segment), and what instructions reach
 * without naming it, as `push` and `rep movs` do, or by a vector of indices. What reads and writes counts twice. Accesses that
 * one addition counts are all counted at the place of the first one. Additions of several threads may get lost.
 */
export function countHeapAccesses({ code, first, last, live }: BlockView): Insertion[] {
  const insertions: Insertion[] = [];
  const open = new Map<string, Group>();
  const close = (group: Group) => {
    const before = cheapestPlace(group, (i) => live[i - first]);
    insertions.push({ before, bytes: additionBytes(group, live[before - first]) });
  };
  for (let i = first; i < last; i++) {
    if ((code.traits[i] & TRAIT.access) === 0 && open.size === 0) continue;
    decode(code.bytes, code.offsets[i], instruction);
    if (isHeapAccess(instruction)) {
      const one = groupOf(instruction, i);
      const key = `${instruction.base} ${instruction.index} ${instruction.scale} ${instruction.shortAddress}`;
      const group = open.get(key);
      if (group !== undefined && canAdd(group, one)) {
        group.accesses += one.accesses;
        group.to = i;
      } else {
        if (group !== undefined) close(group);
        open.set(key, one);
      }
    }
    for (const [key, group] of open)
      if ((group.uses & instruction.writes) !== 0) {
        close(group);
        open.delete(key);
      }
  }
  for (const group of open.values()) close(group);
  return insertions.sort((a, b) => a.before - b.before);
}

function isHeapAccess({ access, segment, vectorIndex, base, index }: Instruction): boolean {
  if (access === 0 || (access & ADDRESS_ONLY) !== 0 || segment !== SEGMENT.none || vectorIndex) return false;
  if (base === INSTRUCTION_POINTER || base === RSP.number) return false;
  return base !== NO_REGISTER || index !== NO_REGISTER;
}

function groupOf({ base, index, scale, displacement, shortAddress, access }: Instruction, i: number): Group {
  const register = (number: number) => (number === NO_REGISTER ? undefined : GENERAL[number]);
  const place: Place = {
    kind: "place",
    base: register(base),
    index: register(index),
    scale: scale as Place["scale"],
    displacement,
  };
  const uses = (base === NO_REGISTER ? 0 : 1 << base) | (index === NO_REGISTER ? 0 : 1 << index);
  const accesses = (access & READ ? 1 : 0) + (access & WRITE ? 1 : 0);
  return { place, shortAddress, uses, accesses, from: i, to: i };
}

function canAdd(group: Group, { place, accesses }: Group): boolean {
  const distance = Math.abs(group.place.displacement - place.displacement);
  return distance < NEAR && group.accesses + accesses <= MOST_ADDED;
}

/** In front of which instruction the addition has to save the least: flags cost more than a register. */
function cheapestPlace({ from, to, uses }: Group, liveBefore: (i: number) => number): number {
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i <= to && least > 0; i++) {
    const taken = liveBefore(i);
    const cost = ((taken & FLAGS) === 0 ? 0 : 2) + (((taken | uses) & REGISTERS) === REGISTERS ? 1 : 0);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

/** `lea`, `shr` and `add`, with what is live and overwritten by them on the stack meanwhile. */
function additionBytes(group: Group, live: number): number[] {
  const flagsAreLive = (live & FLAGS) !== 0;
  const dead = SCRATCH.find((register) => ((live | group.uses) & (1 << register)) === 0);
  if (dead !== undefined && !flagsAreLive) return addition(group, dead);
  const register = dead ?? (SCRATCH.find((one) => (group.uses & (1 << one)) === 0) as number);
  const low = register & 7;
  const prefix = register > 7 ? [0x41] : [];
  return [
    ...SKIP_RED_ZONE,
    ...(dead === undefined ? [...prefix, PUSH + low] : []),
    ...(flagsAreLive ? [PUSH_FLAGS] : []),
    ...addition(group, register),
    ...(flagsAreLive ? [POP_FLAGS] : []),
    ...(dead === undefined ? [...prefix, POP + low] : []),
    ...LEAVE_RED_ZONE,
  ];
}

function addition({ place, shortAddress, accesses }: Group, register: number): number[] {
  const high = register >> 3;
  const rex =
    0x48 | (high << 2) | ((place.index?.number ?? 0) & 8 ? 2 : 0) | ((place.base?.number ?? 0) >> 3);
  const counter = placeBytes(
    { kind: "place", base: undefined, index: GENERAL[register], scale: 4, displacement: SHADOW },
    0,
  );
  return [
    // lea place, register
    ...[...(shortAddress ? [0x67] : []), rex, 0x8d, ...placeBytes(place, register)],
    // shr $3, register
    ...[0x48 | high, 0xc1, 0xe8 | (register & 7), GRANULE_SHIFT],
    // addl $accesses, counter
    ...[...(high ? [0x42] : []), 0x83, ...counter, accesses],
  ];
}
