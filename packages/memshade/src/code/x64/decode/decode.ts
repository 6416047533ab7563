import { FormatError } from "../../../ground/bytes/errors.ts";
import { int32At } from "../../../ground/bytes/numbers.ts";
import {
  COLUMN,
  CONSTANT,
  compileRows,
  ENCODINGS,
  ROLE,
  ROW_OF_SLOT,
  ROW_WORDS,
  ROWS,
  slotOf,
  WIDTH,
} from "./general-rows.ts";
import { FLOW, IMPLICIT, SIZES } from "./rows.ts";

/** Value of `base` or `index` if there is no register. */
export const NO_REGISTER = -1;
/** Value of `base` for the address of the next instruction. */
export const INSTRUCTION_POINTER = 16;

export const SEGMENT = { none: 0, fs: 1, gs: 2 } as const;

/**
 * Decoded machine instruction, an object that is reused. Bits 0 to 15 of register masks are general registers,
 * followed by `CARRY` and `OTHER_FLAGS`.
 */
export class Instruction {
  /** bytes */
  length = 0;
  /** map << 8 | last byte of the opcode; maps: 0, 1: 0F, 2: 0F 38, 3: 0F 3A */
  opcode = 0;
  /** a value of `ENCODINGS`: L legacy, V VEX, E EVEX, X XOP */
  encoding = 0;
  flow: number = FLOW.next;
  /** for jumps and calls: bytes from the next instruction to the target */
  distance = 0;
  /** registers that are read, written, and fully overwritten */
  reads = 0;
  writes = 0;
  kills = 0;
  /** operand size in bytes; 4 also for opcodes whose operands have 1 byte */
  operandSize = 4;
  /** true after a prefix REP, REPE or REPNE */
  repeated = false;
  locked = false;
  implicit: number = IMPLICIT.none;

  /** bits `READ`, `WRITE`, `ADDRESS_ONLY`; 0 if no operand is a place */
  access = 0;
  /** bytes of that place; for a vector of indices, of one element; 0 if the size is not fixed */
  size = 0;
  base = NO_REGISTER;
  index = NO_REGISTER;
  /** 1, 2, 4 or 8 */
  scale = 1;
  /** as a number of 32 bits; a full address of `mov` with rax can be larger, and is inexact above 2^53 */
  displacement = 0;
  segment: number = SEGMENT.none;
  /** addresses have 32 bits */
  shortAddress = false;
  /** `index` is a vector register */
  vectorIndex = false;
  /** offset of ModRM in the instruction; 0 if it has none */
  modRmAt = 0;
  /** offset of a 4-byte displacement in the instruction; 0 if it has none */
  displacementAt = 0;
}

const MAX_LENGTH = 15;
const RCX = 1 << 1;
const GENERAL = 0xffff;
/** `xchg rax, r8`, which is `nop` without REX.B. */
const NOP = 0x90;
const [TWO_BYTES, VEX2, VEX3, EVEX, XOP] = [0x0f, 0xc5, 0xc4, 0x62, 0x8f];
const [REX, OPERAND_SIZE, REPEAT, REPEAT_NOT, LOCK, ADDRESS_SIZE, FS, GS, OTHER] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9,
];

/** Prefix that each byte is; 0 for none. */
const PREFIXES = new Uint8Array(256);
PREFIXES.fill(REX, 0x40, 0x50);
for (const [byte, prefix] of [
  ...([0x66, 0xf3, 0xf2, 0xf0, 0x67, 0x64, 0x65] as const).map((byte, i) => [byte, OPERAND_SIZE + i]),
  ...[0x2e, 0x36, 0x3e, 0x26].map((byte) => [byte, OTHER]),
])
  PREFIXES[byte] = prefix;

/** Rest of the code, followed by zeros. */
const rest = new Uint8Array(3 * MAX_LENGTH);

/**
 * Decodes the instruction at an offset.
 *
 * @throws FormatError `truncated` if the instruction does not end within `code`, `unknown-opcode` if there is no
 * such instruction, `malformed` if it is longer than 15 bytes; its offset is that in `code`
 */
export function decode(code: Uint8Array, offset: number, into: Instruction): void {
  const available = code.length - offset;
  if (available >= rest.length) read(code, offset, offset, into);
  else {
    rest.fill(0);
    rest.set(code.subarray(offset));
    read(rest, 0, offset, into);
    if (into.length > available) throw new FormatError("truncated", offset, "instruction", "it is cut off");
  }
}

/**
 * Decodes an instruction in one function with local variables, since it runs for every instruction of a program
 * several times.
 *
 * @param from start in `bytes`, which must have as many bytes as the longest instruction
 * @param offset offset for errors
 */
function read(bytes: Uint8Array, from: number, offset: number, into: Instruction): void {
  let at = from;
  let rex = 0;
  let prefix66 = false;
  let mandatory = 0;
  into.segment = SEGMENT.none;
  into.shortAddress = false;
  into.locked = false;
  for (
    let prefix = PREFIXES[bytes[at]];
    prefix !== 0 && at - from < MAX_LENGTH;
    prefix = PREFIXES[bytes[++at]]
  ) {
    // REX is valid only directly before the opcode.
    rex = prefix === REX ? bytes[at] : 0;
    if (prefix === OPERAND_SIZE) prefix66 = true;
    else if (prefix === REPEAT || prefix === REPEAT_NOT) mandatory = prefix === REPEAT ? 2 : 3;
    else if (prefix === LOCK) into.locked = true;
    else if (prefix === ADDRESS_SIZE) into.shortAddress = true;
    else if (prefix === FS) into.segment = SEGMENT.fs;
    else if (prefix === GS) into.segment = SEGMENT.gs;
  }
  into.repeated = mandatory !== 0;
  // Bits 3 of the reg field, the index and the base (0 or 8), W, and a flag for REX, with which spl replaces ah.
  let hasRex = rex !== 0;
  let wide = (rex & 8) !== 0;
  let rexR = (rex & 4) << 1;
  let rexX = (rex & 2) << 2;
  let rexB = (rex & 1) << 3;
  let encoding: number = ENCODINGS.L;
  let map = 0;
  let vvvv = 0;
  /** Bit 4 of a vector register that is an index. */
  let indexHigh = 0;
  let vectorLength = 16;
  let broadcast = false;

  let opcode = bytes[at++];
  if (opcode === TWO_BYTES) {
    opcode = bytes[at++];
    map = 1;
    if (opcode === 0x38 || opcode === 0x3a) {
      map = opcode === 0x38 ? 2 : 3;
      opcode = bytes[at++];
    }
  } else if (
    opcode === VEX2 ||
    opcode === VEX3 ||
    opcode === EVEX ||
    (opcode === XOP && (bytes[at] & 0x1f) >= 8)
  ) {
    // VEX, EVEX and XOP prefixes have inverted bits 3, vvvv and W, and a vector length.
    const isEvex = opcode === EVEX;
    const isShort = opcode === VEX2;
    encoding = isEvex ? ENCODINGS.E : opcode === XOP ? ENCODINGS.X : ENCODINGS.V;
    const first = isShort ? (bytes[at] & 0x80) | 0x61 : bytes[at++];
    let fields = bytes[at++];
    if (isShort) fields &= 0x7f;
    map = isEvex ? first & 7 : opcode === XOP ? (first & 0x1f) - 8 : first & 0x1f;
    if (isEvex && ((first & 8) !== 0 || (fields & 4) === 0)) fail(offset, "its EVEX prefix has no meaning");
    if (map > 3) fail(offset, `there is no opcode map ${map}`);
    rexR = first < 0x80 ? 8 : 0;
    rexX = (first & 0x40) === 0 ? 8 : 0;
    rexB = (first & 0x20) === 0 ? 8 : 0;
    hasRex = true;
    wide = fields >= 0x80;
    vvvv = (~fields >> 3) & 15;
    prefix66 = (fields & 3) === 1;
    mandatory = (fields & 3) >= 2 ? fields & 3 : 0;
    vectorLength = (fields & 4) === 0 ? 16 : 32;
    if (isEvex) {
      const third = bytes[at++];
      indexHigh = (third & 8) === 0 ? 16 : 0;
      broadcast = (third & 0x10) !== 0;
      vectorLength = Math.min(16 << ((third >> 5) & 3), 64);
    }
    opcode = bytes[at++];
  }
  into.opcode = (map << 8) | opcode;
  into.encoding = encoding;

  const prefix = mandatory !== 0 ? mandatory : prefix66 ? 1 : 0;
  const modRm = bytes[at];
  const variant = ((modRm >> 3) & 7) | (modRm >= 0xc0 ? 8 : 0);
  const isExchange = opcode === NOP && map === 0 && rexB !== 0;
  const slot = slotOf(encoding, map, isExchange ? NOP + 1 : opcode, prefix) + variant;
  if (ROW_OF_SLOT[slot] === 0) compileRows();
  const row = ROW_WORDS * ROW_OF_SLOT[slot];
  if (row === 0) fail(offset, "there is no such instruction");

  const shape = ROWS[row + COLUMN.shape];
  const effects = ROWS[row + COLUMN.effects];
  let reads = ROWS[row + COLUMN.reads];
  let writes = ROWS[row + COLUMN.writes];
  let kills = ROWS[row + COLUMN.kills];
  into.flow = effects & 0xff;
  into.implicit = effects >> 8;
  into.operandSize = wide ? 8 : prefix66 ? 2 : 4;
  // A write to 16 bits of a register keeps the other bits.
  if (prefix66 && encoding === ENCODINGS.L) kills &= ~GENERAL;
  into.distance = 0;
  into.access = 0;
  into.modRmAt = 0;
  into.displacementAt = 0;

  let rm = 0;
  let reg = 0;
  let isPlace = false;
  if ((shape & 1) !== 0) {
    into.modRmAt = at++ - from;
    const mode = modRm >> 6;
    reg = ((modRm >> 3) & 7) | rexR;
    rm = (modRm & 7) | rexB;
    isPlace = mode !== 3;
    if (isPlace) {
      const hasVectorIndex = (shape & 2) !== 0;
      const size = (shape >> 8) & 0xff;
      into.access = shape >> 16;
      into.vectorIndex = hasVectorIndex;
      into.size = size < SIZES.v ? size : sizeOf(size, wide, prefix66, encoding, vectorLength, broadcast);
      let base = rm;
      let index = NO_REGISTER;
      let hasBase = true;
      into.scale = 1;
      if ((modRm & 7) === 4) {
        const sib = bytes[at++];
        const named = ((sib >> 3) & 7) | rexX;
        if (hasVectorIndex) index = named | indexHigh;
        else if (named !== 4) index = named;
        into.scale = 1 << (sib >> 6);
        base = (sib & 7) | rexB;
        hasBase = mode !== 0 || (sib & 7) !== 5;
        into.base = hasBase ? base : NO_REGISTER;
      } else {
        hasBase = mode !== 0 || (modRm & 7) !== 5;
        into.base = hasBase ? base : INSTRUCTION_POINTER;
      }
      into.index = index;
      if (mode === 1) {
        const unit = encoding === ENCODINGS.E ? displacementUnit(size, wide, into.size) : 1;
        into.displacement = ((bytes[at++] << 24) >> 24) * unit;
      } else if (mode === 2 || !hasBase) {
        into.displacementAt = at - from;
        into.displacement = int32At(bytes, at);
        at += 4;
      } else into.displacement = 0;
      if (hasBase) reads |= 1 << base;
      if (index !== NO_REGISTER && !hasVectorIndex) reads |= 1 << index;
    }
  }

  for (let roles = ROWS[row + COLUMN.roles], kind = 0; roles !== 0; roles >>= 4, kind++) {
    if ((roles & 3) === 0 || (kind === ROLE.E && isPlace)) continue;
    const number =
      kind === ROLE.G
        ? reg
        : kind === ROLE.E
          ? rm
          : kind === ROLE.B
            ? vvvv
            : kind === ROLE.Z
              ? (opcode & 7) | rexB
              : 0;
    const width = (roles >> 2) & 3;
    const isHighByte = width === WIDTH.byte && !hasRex && number >= 4;
    const mask = 1 << (isHighByte ? number - 4 : number);
    if ((roles & 1) !== 0) reads |= mask;
    if ((roles & 2) === 0) continue;
    writes |= mask;
    if (width === WIDTH.full || (width === WIDTH.operand && (wide || !prefix66))) kills |= mask;
  }

  switch ((shape >> 4) & 15) {
    case CONSTANT.none:
      break;
    case CONSTANT.b:
      at += 1;
      break;
    case CONSTANT.w:
      at += 2;
      break;
    case CONSTANT.z:
      at += prefix66 && !wide ? 2 : 4;
      break;
    case CONSTANT.v:
      at += wide ? 8 : prefix66 ? 2 : 4;
      break;
    case CONSTANT.enter:
      at += 3;
      break;
    case CONSTANT.shortDistance:
      into.distance = (bytes[at++] << 24) >> 24;
      break;
    case CONSTANT.distance:
      into.distance = int32At(bytes, at);
      at += 4;
      break;
    case CONSTANT.moffs:
      into.size = sizeOf((shape >> 8) & 0xff, wide, prefix66, encoding, vectorLength, broadcast);
      at = readWholeAddress(bytes, at, shape >> 16, into);
  }

  if (into.repeated && into.implicit >= IMPLICIT.movs && into.implicit <= IMPLICIT.scas) {
    reads |= RCX;
    writes |= RCX;
  }
  into.reads = reads;
  into.writes = writes;
  into.kills = kills;
  into.length = at - from;
  if (into.length > MAX_LENGTH) throw new FormatError("malformed", offset, "instruction", "it is too long");
}

function fail(offset: number, detail: string): never {
  throw new FormatError("unknown-opcode", offset, "instruction", detail);
}

/** Returns the unit of 1-byte displacements with EVEX: nearly always the size of the place. */
function displacementUnit(size: number, wide: boolean, bytes: number): number {
  if (size === SIZES.k) return wide ? 8 : 4;
  if (size === SIZES.l) return wide ? 2 : 1;
  return bytes;
}

function sizeOf(
  size: number,
  wide: boolean,
  prefix66: boolean,
  encoding: number,
  vectorLength: number,
  broadcast: boolean,
): number {
  const element = wide ? 8 : 4;
  if (broadcast) return element;
  switch (size) {
    case SIZES.v:
      return wide ? 8 : prefix66 ? 2 : 4;
    case SIZES.y:
    case SIZES.s:
      return element;
    case SIZES.c:
      return 2 * element;
    case SIZES.h:
      return vectorLength >> 1;
    case SIZES.f:
      return vectorLength >> 2;
    case SIZES.e:
      return vectorLength >> 3;
    case SIZES.H:
      return encoding === ENCODINGS.E && wide ? vectorLength : vectorLength >> 1;
    case SIZES.D:
      return vectorLength === 16 ? 8 : vectorLength;
    case SIZES.p:
      return wide ? 10 : prefix66 ? 4 : 6;
    case SIZES.K:
      return wide ? 8 : 2;
    case SIZES.L:
      return wide ? 4 : 1;
    case SIZES.x:
    case SIZES.k:
    case SIZES.l:
      return vectorLength;
    default:
      return size;
  }
}

function readWholeAddress(bytes: Uint8Array, at: number, access: number, into: Instruction): number {
  into.access = access;
  into.base = NO_REGISTER;
  into.index = NO_REGISTER;
  into.vectorIndex = false;
  into.displacement = int32At(bytes, at) >>> 0;
  if (into.shortAddress) return at + 4;
  into.displacement += int32At(bytes, at + 4) * 2 ** 32;
  return at + 8;
}

export function hasTarget(flow: number): boolean {
  return flow === FLOW.jump || flow === FLOW.branch || flow === FLOW.call;
}
