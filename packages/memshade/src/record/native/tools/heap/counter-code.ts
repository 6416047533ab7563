import { FLAGS } from "../../../../code/x64/decode/index.ts";
import { GENERAL, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP } from "../../../../code/x64/index.ts";
import { int32, type Place, placeBytes } from "../../../../code/x64/operands.ts";
import { COUNTERS, GRANULE_SHIFT, WRITES, WRITES_BIT } from "../../layout.ts";
import {
  LEAVE_RED_ZONE,
  popBytes,
  pushBytes,
  RED_ZONE_BYTES,
  SKIP_RED_ZONE,
} from "../../rewrite/insertion/red-zone.ts";
import { GIVE_FLAGS, moveRegister, TAKE_FLAGS } from "../../rewrite/insertion/saved-flags.ts";

/** Accesses that one addition counts: at the place of the first of them. */
export interface Counted {
  place: Place;
  /** The place's address has 32 bits. */
  shortAddress: boolean;
  /** mask of the registers of its place */
  uses: number;
  accesses: number;
  /** Whether one of them reads. */
  reads: boolean;
}

/** Registers in the order in which dead ones are taken: those that calls overwrite stand first, and rax, which flags go through, behind these. */
const SCRATCH = [RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RAX, RBX, RBP, ...GENERAL.slice(12)].map(
  ({ number }) => number,
);
/** Mask of all of them. */
export const REGISTERS = SCRATCH.reduce((mask, register) => mask | (1 << register), 0);
const RAX_BIT = 1 << RAX.number;

/** The registers that an addition has to itself. */
interface Taken {
  address: number;
  /** Where rax is kept while the flags are in it; undefined: it is dead itself, or no flag is live. */
  rax: number | undefined;
}

/**
 * Adds accesses to the counter of a place. Registers and flags that are live keep what they hold.
 *
 * @param live mask of registers and flags
 */
export function additionBytes(counted: Counted, live: number): number[] {
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

/** `moved`: so far the stack pointer is below where the program has it. */
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
