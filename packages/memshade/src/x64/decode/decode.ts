import { FormatError } from "../../bytes/errors.ts";
import { INSTRUCTION_POINTER, type Instruction, NO_REGISTER, SEGMENT } from "./instruction.ts";
import {
  CONSTANT,
  EFFECTS,
  ENCODINGS,
  KILLS,
  READS,
  ROLE_SHIFTS,
  ROLES,
  ROW_OF_SLOT,
  SHAPE,
  slotOf,
  WIDTH,
  WRITES,
} from "./row-table.ts";
import { FLOW, IMPLICIT, SIZES } from "./rows.ts";

const MAX_LENGTH = 15;
const RCX = 1 << 1;
/** General registers, without flags. */
const GENERAL = 0xffff;
/** `xchg rax, r8`, which without REX.B is `nop`. */
const NOP = 0x90;
const G = ROLE_SHIFTS.G;
const E = ROLE_SHIFTS.E;
const B = ROLE_SHIFTS.B;
const Z = ROLE_SHIFTS.Z;
const A = ROLE_SHIFTS.A;

// State of the instruction that is being read.
let bytes: Uint8Array;
let start = 0;
let at = 0;
let end = 0;
// Bits 3 of the reg field, the index and the base (0 or 8), W, and whether a REX prefix tells spl from ah.
let rexR = 0;
let rexX = 0;
let rexB = 0;
let wide = false;
let hasRex = false;
let prefix66 = false;
let mandatory = 0;
let encoding: number = ENCODINGS.L;
let map = 0;
let vvvv = 0;
/** Bit 4 of a vector register that is an index. */
let indexHigh = 0;
let vectorLength = 16;
let broadcast = false;

/**
 * Decodes the instruction at an offset.
 *
 * @throws FormatError `truncated` where it does not end within `code`, `unknown-opcode` where there is no such instruction,
 *   `malformed` where it is longer than 15 bytes; its offset is that in `code`
 */
export function decode(code: Uint8Array, offset: number, into: Instruction): void {
  bytes = code;
  start = offset;
  at = offset;
  end = code.length;
  readPrefixes(into);
  const opcode = readOpcode();
  into.opcode = (map << 8) | opcode;
  into.encoding = encoding;

  const prefix = mandatory !== 0 ? mandatory : prefix66 ? 1 : 0;
  const next = at < end ? bytes[at] : 0;
  const variant = ((next >> 3) & 7) | (next >= 0xc0 ? 8 : 0);
  const isExchange = opcode === NOP && map === 0 && rexB !== 0;
  const row = ROW_OF_SLOT[slotOf(encoding, map, isExchange ? NOP + 1 : opcode, prefix) + variant];
  if (row === 0)
    throw new FormatError("unknown-opcode", start, "instruction", "there is no such instruction");

  const shape = SHAPE[row];
  const effects = EFFECTS[row];
  into.flow = effects & 0xff;
  into.implicit = effects >> 8;
  into.operandSize = wide ? 8 : prefix66 ? 2 : 4;
  into.reads = READS[row];
  into.writes = WRITES[row];
  // Half of a register keeps its other half.
  into.kills = prefix66 && encoding === ENCODINGS.L ? KILLS[row] & ~GENERAL : KILLS[row];
  into.distance = 0;
  into.access = 0;
  into.modRmAt = 0;
  into.displacementAt = 0;
  const roles = ROLES[row];
  if ((shape & 1) !== 0) readModRm(into, shape);
  if (roles !== 0) addRoles(into, roles, opcode);
  readConstant(into, shape);

  if (into.repeated && into.implicit >= IMPLICIT.movs && into.implicit <= IMPLICIT.scas) {
    into.reads |= RCX;
    into.writes |= RCX;
  }
  into.length = at - start;
  if (at > end) throw new FormatError("truncated", start, "instruction", "it is cut off");
  if (into.length > MAX_LENGTH) throw new FormatError("malformed", start, "instruction", "it is too long");
}

function readPrefixes(into: Instruction): void {
  rexR = 0;
  rexX = 0;
  rexB = 0;
  wide = false;
  hasRex = false;
  prefix66 = false;
  mandatory = 0;
  into.segment = SEGMENT.none;
  into.shortAddress = false;
  into.locked = false;
  let rex = 0;
  for (; at < end && at - start < MAX_LENGTH; at++) {
    const byte = bytes[at];
    if ((byte & 0xf0) === 0x40) {
      rex = byte;
      continue;
    }
    if (byte === 0x66) prefix66 = true;
    else if (byte === 0xf3) mandatory = 2;
    else if (byte === 0xf2) mandatory = 3;
    else if (byte === 0xf0) into.locked = true;
    else if (byte === 0x67) into.shortAddress = true;
    else if (byte === 0x64) into.segment = SEGMENT.fs;
    else if (byte === 0x65) into.segment = SEGMENT.gs;
    else if (byte !== 0x2e && byte !== 0x36 && byte !== 0x3e && byte !== 0x26) break;
    // It counts only right in front of the opcode.
    rex = 0;
  }
  into.repeated = mandatory !== 0;
  if (rex === 0) return;
  hasRex = true;
  wide = (rex & 8) !== 0;
  rexR = (rex & 4) << 1;
  rexX = (rex & 2) << 2;
  rexB = (rex & 1) << 3;
}

function readOpcode(): number {
  encoding = ENCODINGS.L;
  map = 0;
  vvvv = 0;
  indexHigh = 0;
  vectorLength = 16;
  broadcast = false;
  const byte = take();
  if (byte === 0x0f) {
    const second = take();
    map = second === 0x38 ? 2 : second === 0x3a ? 3 : 1;
    return map === 1 ? second : take();
  }
  if (byte === 0xc5) {
    const packed = take();
    encoding = ENCODINGS.V;
    map = 1;
    rexR = packed < 0x80 ? 8 : 0;
    return readVexFields(packed & 0x7f);
  }
  if (byte === 0xc4 || (byte === 0x8f && ((bytes[at] ?? 0) & 0x1f) >= 8)) {
    const first = take();
    encoding = byte === 0xc4 ? ENCODINGS.V : ENCODINGS.X;
    readInverted(first);
    map = byte === 0xc4 ? first & 0x1f : (first & 0x1f) - 8;
    return readVexFields(take());
  }
  if (byte === 0x62) return readEvex();
  return byte;
}

/** Bits 3 of the registers, which VEX and its kin have inverted. */
function readInverted(first: number): void {
  rexR = first < 0x80 ? 8 : 0;
  rexX = (first & 0x40) === 0 ? 8 : 0;
  rexB = (first & 0x20) === 0 ? 8 : 0;
}

/** W, vvvv, L and pp, and the opcode behind them. */
function readVexFields(packed: number): number {
  if (map > 3) throw new FormatError("unknown-opcode", start, "instruction", `there is no opcode map ${map}`);
  wide = packed >= 0x80;
  hasRex = true;
  vvvv = (~packed >> 3) & 15;
  vectorLength = (packed & 4) === 0 ? 16 : 32;
  readPp(packed & 3);
  return take();
}

function readPp(pp: number): void {
  prefix66 = pp === 1;
  mandatory = pp >= 2 ? pp : 0;
}

function readEvex(): number {
  const first = take();
  const second = take();
  const third = take();
  if ((first & 8) !== 0 || (second & 4) === 0)
    throw new FormatError("unknown-opcode", start, "instruction", "its EVEX prefix has no meaning");
  encoding = ENCODINGS.E;
  readInverted(first);
  map = first & 7;
  indexHigh = (third & 8) === 0 ? 16 : 0;
  broadcast = (third & 0x10) !== 0;
  const opcode = readVexFields(second & ~4);
  vectorLength = Math.min(16 << ((third >> 5) & 3), 64);
  return opcode;
}

/** The next byte; 0 behind the end, which is found at the end. */
function take(): number {
  const byte = at < end ? bytes[at] : 0;
  at++;
  return byte;
}

function takeInt8(): number {
  return (take() << 24) >> 24;
}

function takeInt32(): number {
  return take() | (take() << 8) | (take() << 16) | (take() << 24);
}

let rm = 0;
let reg = 0;
let isPlace = false;

function readModRm(into: Instruction, shape: number): void {
  into.modRmAt = at - start;
  const modRm = take();
  const mode = modRm >> 6;
  reg = ((modRm >> 3) & 7) | rexR;
  rm = (modRm & 7) | rexB;
  isPlace = mode !== 3;
  if (!isPlace) return;
  into.access = shape >> 16;
  into.vectorIndex = (shape & 2) !== 0;
  into.size = sizeOf((shape >> 8) & 0xff);
  into.scale = 1;
  into.index = NO_REGISTER;
  let base = rm;
  let hasBase = true;
  if ((modRm & 7) === 4) {
    const sib = take();
    const index = ((sib >> 3) & 7) | rexX;
    if (into.vectorIndex) into.index = index | indexHigh;
    else if (index !== 4) into.index = index;
    into.scale = 1 << (sib >> 6);
    base = (sib & 7) | rexB;
    hasBase = mode !== 0 || (sib & 7) !== 5;
    into.base = hasBase ? base : NO_REGISTER;
  } else {
    hasBase = mode !== 0 || (modRm & 7) !== 5;
    into.base = hasBase ? base : INSTRUCTION_POINTER;
  }
  if (mode === 1) into.displacement = takeInt8() * displacementUnit(into, (shape >> 8) & 0xff);
  else if (mode === 2 || !hasBase) {
    into.displacementAt = at - start;
    into.displacement = takeInt32();
  } else into.displacement = 0;

  if (hasBase) into.reads |= 1 << base;
  if (into.index !== NO_REGISTER && !into.vectorIndex) into.reads |= 1 << into.index;
}

/** What EVEX scales displacements of one byte by: the size of the place, nearly always. */
function displacementUnit(into: Instruction, size: number): number {
  if (encoding !== ENCODINGS.E) return 1;
  if (size === SIZES.k) return wide ? 8 : 4;
  if (size === SIZES.l) return wide ? 2 : 1;
  return into.size;
}

function sizeOf(size: number): number {
  if (size < SIZES.v) return size;
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
    default:
      return vectorLength;
  }
}

function addRoles(into: Instruction, roles: number, opcode: number): void {
  if ((roles >> G) & 3) addRole(into, (roles >> G) & 15, reg);
  if ((roles >> E) & 3 && !isPlace) addRole(into, (roles >> E) & 15, rm);
  if ((roles >> B) & 3) addRole(into, (roles >> B) & 15, vvvv);
  if ((roles >> Z) & 3) addRole(into, (roles >> Z) & 15, (opcode & 7) | rexB);
  if ((roles >> A) & 3) addRole(into, (roles >> A) & 15, 0);
}

function addRole(into: Instruction, role: number, number: number): void {
  const width = role >> 2;
  const isHighByte = width === WIDTH.byte && !hasRex && number >= 4;
  const mask = 1 << (isHighByte ? number - 4 : number);
  if ((role & 1) !== 0) into.reads |= mask;
  if ((role & 2) === 0) return;
  into.writes |= mask;
  if (width === WIDTH.full || (width === WIDTH.operand && (wide || !prefix66))) into.kills |= mask;
}

function readConstant(into: Instruction, shape: number): void {
  switch ((shape >> 4) & 15) {
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
      into.distance = takeInt8();
      break;
    case CONSTANT.distance:
      into.distance = takeInt32();
      break;
    case CONSTANT.moffs:
      readWholeAddress(into, shape);
  }
}

function readWholeAddress(into: Instruction, shape: number): void {
  into.access = shape >> 16;
  into.size = sizeOf((shape >> 8) & 0xff);
  into.base = NO_REGISTER;
  into.index = NO_REGISTER;
  into.vectorIndex = false;
  into.displacement = takeInt32() >>> 0;
  if (!into.shortAddress) into.displacement += takeInt32() * 2 ** 32;
}

/** A branch has a distance that its target follows from; others have none. */
export function hasTarget(flow: number): boolean {
  return flow === FLOW.jump || flow === FLOW.branch || flow === FLOW.call;
}
