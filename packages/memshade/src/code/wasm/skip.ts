import { FormatError } from "../../ground/bytes/errors.ts";
import { readU32Leb, skipLeb32, skipLeb64 } from "../../ground/bytes/leb128.ts";
import { ImmediateKind } from "./immediates.ts";
import { checkMemargFlags, MEMARG_HAS_MEMORY, MEMARG_ORDER, unsupportedOrder } from "./memarg.ts";
import { IMMEDIATE_KIND, PREFIX_BASE, UNKNOWN_OPCODE } from "./opcodes.ts";

/** Proposals with opcode numbers that no released edition assigns. */
const CLAIMED: readonly (readonly [prefix: number, first: number, last: number, feature: string])[] = [
  [0, 0x16, 0x17, "multi-byte array access, or an early draft of function references"],
  [0, 0xe0, 0xef, "stack switching"],
  [0xfb, 0x1f, 0x7f, "custom descriptors, an extension of GC"],
  [0xfb, 0x80, 0xbf, "reference-typed strings (stringref)"],
  [0xfb, 0xc0, 0xffffffff, "a later extension of GC"],
  [0xfc, 0x12, 0x12, "memory control (memory.discard)"],
  [0xfc, 0x17, 0xffffffff, "a later extension of bulk memory or wide arithmetic"],
  [0xfd, 0x100, 0x12f, "a later extension of relaxed SIMD, or half-precision SIMD"],
  [0xfd, 0x130, 0xffffffff, "half-precision SIMD (fp16)"],
  [0xfd, 0, 0xff, "SIMD"],
  [0xfe, 0, 0xffffffff, "shared-everything threads"],
];

export function unknownOpcode(bytes: Uint8Array, offset: number): FormatError {
  const first = bytes[offset];
  const prefixed = first >= 0xfb && first <= 0xfe;
  const number = prefixed ? readU32Leb(bytes, offset + 1) : first;
  const shown = prefixed ? `0x${hex(first)} 0x${hex(number)}` : `0x${hex(first)}`;
  const claim = CLAIMED.find(
    ([prefix, low, high]) => prefix === (prefixed ? first : 0) && number >= low && number <= high,
  );
  const origin = claim === undefined ? "" : `; it probably belongs to ${claim[3]}`;
  return new FormatError(
    "unknown-opcode",
    offset,
    "instruction",
    `opcode ${shown} is not supported${origin}`,
  );
}

function hex(value: number): string {
  return value.toString(16).padStart(2, "0");
}

/*
 * Steps of a decoder: `opcodeIdAt`, then `skipOpcode`, then `skipImmediates`. No step allocates, and all stay
 * inside `bytes`. The caller must check that the end of the body is not passed.
 */

const FIRST_PREFIX = 0xfb;
const LAST_PREFIX = 0xfe;
const REF_NON_NULL = 0x64;
const REF_NULL = 0x63;

export function opcodeIdAt(bytes: Uint8Array, position: number): number {
  if (position >= bytes.length) throw truncated(position, "instruction");
  const byte = bytes[position];
  let id = byte;
  if (byte >= FIRST_PREFIX && byte <= LAST_PREFIX) {
    const number = readU32Leb(bytes, position + 1);
    // The ids of 0xFD have room for twice as many numbers as those of the other prefixes.
    if (number >= (byte === 0xfd ? 0x200 : 0x100)) throw unknownOpcode(bytes, position);
    id = PREFIX_BASE[byte] + number;
  }
  if (IMMEDIATE_KIND[id] === UNKNOWN_OPCODE) throw unknownOpcode(bytes, position);
  return id;
}

export function skipOpcode(bytes: Uint8Array, position: number): number {
  if (position >= bytes.length) throw truncated(position, "instruction");
  const byte = bytes[position];
  return byte >= FIRST_PREFIX && byte <= LAST_PREFIX ? skipLeb32(bytes, position + 1) : position + 1;
}

/** Kinds that the fast path of `skipImmediates` handles; 0 for others. */
const QUICK_EMPTY = 1;
const QUICK_LEB = 2;
const QUICK_MEMARG = 3;

const QUICK = new Uint8Array(0x100);
QUICK[ImmediateKind.None] = QUICK_EMPTY;
QUICK[ImmediateKind.Memarg] = QUICK_MEMARG;
for (const kind of [
  ImmediateKind.Local,
  ImmediateKind.Label,
  ImmediateKind.Func,
  ImmediateKind.Type,
  ImmediateKind.Global,
  ImmediateKind.Table,
  ImmediateKind.Elem,
  ImmediateKind.Memory,
  ImmediateKind.Data,
  ImmediateKind.I32,
  ImmediateKind.RefHeapType,
  ImmediateKind.Tag,
  ImmediateKind.Delegate,
  ImmediateKind.Rethrow,
])
  QUICK[kind] = QUICK_LEB;

export function skipImmediates(bytes: Uint8Array, position: number, kind: number): number {
  // Nearly all immediates are one short integer, or an alignment and a short offset. A fast path for these three
  // shapes halves the decoding time. All other immediates, and those near the end of the input, take the general
  // path.
  const quick = QUICK[kind];
  if (quick === QUICK_EMPTY) return position;
  if (position + 3 < bytes.length)
    if (quick === QUICK_LEB) {
      if (bytes[position] < 0x80) return position + 1;
      if (bytes[position + 1] < 0x80) return position + 2;
      if (bytes[position + 2] < 0x80) return position + 3;
    } else if (quick === QUICK_MEMARG && bytes[position] < MEMARG_ORDER) {
      if (bytes[position + 1] < 0x80) return position + 2;
      if (bytes[position + 2] < 0x80) return position + 3;
    }
  return skipAnyImmediates(bytes, position, kind);
}

function skipAnyImmediates(bytes: Uint8Array, position: number, kind: number): number {
  if (QUICK[kind] === QUICK_LEB) return skipLeb32(bytes, position);
  switch (kind) {
    case ImmediateKind.Memarg:
      return skipMemarg(bytes, position);
    case ImmediateKind.MemargLane:
      return skipFixed(bytes, skipMemarg(bytes, position), 1);
    case ImmediateKind.BlockType:
      return skipType(bytes, position);
    case ImmediateKind.I64:
      return skipLeb64(bytes, position);
    case ImmediateKind.CallIndirect:
    case ImmediateKind.TwoTables:
    case ImmediateKind.ElemTable:
    case ImmediateKind.TwoMemories:
    case ImmediateKind.DataMemory:
    case ImmediateKind.TypeField:
    case ImmediateKind.TypeN:
    case ImmediateKind.TypeData:
    case ImmediateKind.TypeElem:
    case ImmediateKind.TwoTypes:
      return skipLeb32(bytes, skipLeb32(bytes, position));
    case ImmediateKind.LabelTable:
      return skipLabelTable(bytes, position);
    case ImmediateKind.F32:
      return skipFixed(bytes, position, 4);
    case ImmediateKind.F64:
      return skipFixed(bytes, position, 8);
    case ImmediateKind.V128:
    case ImmediateKind.Shuffle:
      return skipFixed(bytes, position, 16);
    case ImmediateKind.Lane:
      return skipFixed(bytes, position, 1);
    case ImmediateKind.Zero:
      if (position < bytes.length && bytes[position] !== 0) throw unsupportedOrder(position, "reserved byte");
      return skipFixed(bytes, position, 1);
    case ImmediateKind.ValTypes:
      return skipTypes(bytes, position);
    case ImmediateKind.TryTable:
      return skipCatches(bytes, skipType(bytes, position));
    case ImmediateKind.BrOnCast:
      return skipLeb32(bytes, skipLeb32(bytes, skipLeb32(bytes, skipFixed(bytes, position, 1))));
    default:
      throw new FormatError("unknown-opcode", position, "instruction", `there is no immediate kind ${kind}`);
  }
}

function truncated(offset: number, construct: string): FormatError {
  return new FormatError("truncated", offset, construct, "the input ends inside it");
}

function skipFixed(bytes: Uint8Array, position: number, count: number): number {
  if (position + count > bytes.length) throw truncated(position, "immediate");
  return position + count;
}

function skipMemarg(bytes: Uint8Array, position: number): number {
  const flags = readU32Leb(bytes, position);
  checkMemargFlags(flags, position);
  position = skipLeb32(bytes, position);
  if ((flags & MEMARG_HAS_MEMORY) !== 0) position = skipLeb32(bytes, position);
  return skipLeb64(bytes, position);
}

/** Skips a block type or a value type: one byte, a signed 33-bit index, or a reference marker and a heap type. */
function skipType(bytes: Uint8Array, position: number): number {
  if (position >= bytes.length) throw truncated(position, "type");
  const byte = bytes[position];
  return skipLeb32(bytes, byte === REF_NON_NULL || byte === REF_NULL ? position + 1 : position);
}

function skipTypes(bytes: Uint8Array, position: number): number {
  let count = readU32Leb(bytes, position);
  position = skipLeb32(bytes, position);
  for (; count > 0; count--) position = skipType(bytes, position);
  return position;
}

function skipLabelTable(bytes: Uint8Array, position: number): number {
  let count = readU32Leb(bytes, position);
  position = skipLeb32(bytes, position);
  for (; count >= 0; count--) position = skipLeb32(bytes, position);
  return position;
}

function skipCatches(bytes: Uint8Array, position: number): number {
  let count = readU32Leb(bytes, position);
  position = skipLeb32(bytes, position);
  for (; count > 0; count--) {
    if (position >= bytes.length) throw truncated(position, "catch clause");
    const kind = bytes[position];
    if (kind > 3) throw new FormatError("malformed", position, "catch clause", `there is no kind ${kind}`);
    position = skipLeb32(bytes, position + 1);
    if (kind < 2) position = skipLeb32(bytes, position);
  }
  return position;
}
