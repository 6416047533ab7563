import { COUNTERS, GRANULE_SHIFT, WRITES, WRITES_BIT } from "../../../native/layout.ts";
import { LEAVE_RED_ZONE, RED_ZONE_BYTES, SKIP_RED_ZONE } from "../../../native/rewrite/insertion/red-zone.ts";
import { GIVE_FLAGS, TAKE_FLAGS } from "../../../native/rewrite/insertion/saved-flags.ts";
import { int32 } from "../../../x64/operands.ts";

const [PUSH_RAX, PUSH_RCX, PUSH_RSI, PUSH_RDI] = [0x50, 0x51, 0x56, 0x57];
const [POP_RAX, POP_RCX, POP_RDI] = [0x58, 0x59, 0x5f];
const SAVE = [PUSH_RAX, ...TAKE_FLAGS, PUSH_RAX, PUSH_RCX, PUSH_RDI];
const RESTORE = [POP_RDI, POP_RCX, POP_RAX, ...GIVE_FLAGS, POP_RAX];
/** What `SAVE` takes, and where rdi and rcx are in it, bytes. */
const SAVED_BYTES = 32;
const [SAVED_RDI, SAVED_RCX] = [0, 8];
/** Where `pushf` has the direction: strings that are gone through backwards are left out. */
const IF_FORWARD = [0x9c, 0xf6, 0x44, 0x24, 0x01, 0x04, 0x48, 0x8d, 0x64, 0x24, 0x08];
const [NOT_ZERO, BELOW] = [0x75, 0x72];

/** Code that runs unless a condition holds. */
function unless(condition: number, code: readonly number[]): number[] {
  if (code.length < 128) return [condition, code.length, ...code];
  return [0x0f, condition + 0x10, ...int32(code.length), ...code];
}

/** `mov offset(%rsp), register`; the number of the register. */
function fromStack(register: number, offset: number): number[] {
  return [0x48, 0x8b, 0x44 | (register << 3), 0x24, offset];
}
const [RCX, RDI] = [1, 7];

/** Adds an access for every 8 bytes of what begins at rdi: rcx elements. Overwrites rax, rcx, rdi and flags. */
function countRange(elementBytes: number, reads: boolean): number[] {
  const counter = [0xbd, ...int32(reads ? COUNTERS : WRITES)];
  const two = [0x48, 0x01, 0x04, ...counter];
  const one = [0x01, 0x04, ...counter];
  const body = [...two, 0x48, 0x83, 0xc7, 2];
  // sub $2, rcx; jb; two counters at once; jmp back
  const turn = 4 + 2 + body.length + 2;
  return [
    // lea 7(, rcx, elementBytes), rcx; shr $3, rcx; shr $3, rdi
    ...[0x48, 0x8d, 0x0c, (Math.log2(elementBytes) << 6) | (RCX << 3) | 5, ...int32(7)],
    ...[0x48, 0xc1, 0xe9, 3, 0x48, 0xc1, 0xef, GRANULE_SHIFT],
    // btc $WRITES_BIT, rdi
    ...(reads ? [] : [0x48, 0x0f, 0xba, 0xff, WRITES_BIT]),
    // movabs $1 in both halves, rax
    ...[0x48, 0xb8, ...int32(1), ...int32(1)],
    ...[0x48, 0x83, 0xe9, 2],
    ...unless(BELOW, [...body, 0xeb, -turn & 0xff]),
    // test $1, cl; jz: one is left
    ...[0xf6, 0xc1, 1],
    ...unless(0x74, one),
  ];
}

/** In front of `rep movs`, `rep stos` or `rep lods`. */
export function repeatBytes(elementBytes: number, reads: boolean, writes: boolean): number[] {
  const source = reads ? [0x48, 0x89, 0xf7, ...countRange(elementBytes, true)] : [];
  const again = reads ? [...fromStack(RCX, SAVED_RCX), ...fromStack(RDI, SAVED_RDI)] : [];
  const target = writes ? [...again, ...countRange(elementBytes, false)] : [];
  return [
    ...SKIP_RED_ZONE,
    ...SAVE,
    ...IF_FORWARD,
    ...unless(NOT_ZERO, [...source, ...target]),
    ...RESTORE,
    ...LEAVE_RED_ZONE,
  ];
}

/**
 * In front of `rep cmps` or `rep scas`, and behind it: what it has compared is known there. Meanwhile the stack pointer is lower.
 *
 * @param both whether it compares with what rsi points to
 */
export function compareBytes(elementBytes: number, both: boolean): [number[], number[]] {
  const kept = both ? [PUSH_RCX, PUSH_RDI, PUSH_RSI] : [PUSH_RCX, PUSH_RDI];
  const keptRcx = SAVED_BYTES + 8 * (kept.length - 1);
  const keptRdi = keptRcx - 8;
  const second = both
    ? [...fromStack(RCX, keptRcx), ...fromStack(RDI, SAVED_BYTES), ...countRange(elementBytes, true)]
    : [];
  const count = [
    // sub rcx, kept; mov kept, rcx
    ...[0x48, 0x29, 0x4c, 0x24, keptRcx],
    ...fromStack(RCX, keptRcx),
    ...fromStack(RDI, keptRdi),
    ...countRange(elementBytes, true),
    ...second,
  ];
  return [
    [...SKIP_RED_ZONE, ...kept],
    [
      ...SAVE,
      ...IF_FORWARD,
      ...unless(NOT_ZERO, count),
      ...RESTORE,
      ...[0x48, 0x8d, 0xa4, 0x24, ...int32(RED_ZONE_BYTES + 8 * kept.length)],
    ],
  ];
}
