// The rule at one address of an x86-64 object, out of its `.eh_frame` through `.eh_frame_hdr`, where it is simple: CFA and
// frame pointer, return address below the CFA. No dictionary, no table: the instructions up to the address are run. Where
// anything is rare, or wrong, nothing is guessed: JavaScript has the whole reader.
//
//   files  {0 u32 pairs of the header; 4 u32 their number; 8 u32 the section; 12 u32 its bytes; 16 i64 address (SVMA) of
//           the header; 24 i64 of the section; 32 i64 where code begins; 40 i64 where it ends}
//   CIES   by (file, offset): {0 u32 file + 1; 4 u32 offset; 8 u32 usable; 12 u32 code alignment; 16 i32 data alignment;
//           20 u32 signal frame; 24 the state behind the initial instructions}
//   state  {0 u32 CFA: 0 unknown, 1 a register, 2 that of a PLT; 4 u32 its register; 8 i32 offset; 12 u32 kind of the return address; 16 i32 offset;
//           20 u32 kind of the frame pointer; 24 i32 offset; 28 u32 kind of the stack pointer}

@external("records", "allocate")
declare function allocate(bytes: u32): u32;
/** Calls `setCie` for the CIE at an offset of a file's section. */
@external("host", "readCie")
declare function readCie(file: u32, offset: u32): void;

const CFA_REGISTER: u32 = 1;
const CFA_PLT: u32 = 2;

const FRAME_POINTER: u32 = 6;
const STACK_POINTER: u32 = 7;
const RETURN_ADDRESS: u32 = 16;

// How a register of the caller is recovered.
const UNSPECIFIED: u32 = 0;
const UNDEFINED: u32 = 1;
const SAME: u32 = 2;
const OFFSET: u32 = 3;

/** `PLACE_RULE` of simple-rule.ts. */
export const RULE_OTHER: u32 = 0;
export const RULE_OUTERMOST: u32 = 1;
export const RULE_STACK_POINTER: u32 = 2;
export const RULE_FRAME_POINTER: u32 = 3;
/** No function is there. */
export const RULE_UNCOVERED: u32 = 4;

export const FILE_BYTES: u32 = 48;
const CIE_SLOTS: u32 = 256;
const CIE_BYTES: u32 = 64;
const STATE: u32 = 24;
const STATE_BYTES: u32 = 32;
const MOST_REMEMBERED: u32 = 64;
const LARGEST_OFFSET: i64 = 0x7fff_ffff;

let cies: u32 = 0;
let remembered: u32 = 0;
/** The state that instructions change. */
let state: u32 = 0;

/** What `ruleAt` found: the rule, bytes from the base register to the CFA, and from there to the saved frame pointer. */
export let rule: u32 = 0;
export let cfaOffset: i32 = 0;
export let framePointerOffset: i32 = 0;

let at: u32 = 0;
let stop: u32 = 0;
/** Low bits of the address that a rule is asked for. */
let addressBits: u32 = 0;
/** An operand was cut off, or too large. */
let failed: bool = false;

function begin(): void {
  cies = allocate(CIE_SLOTS * CIE_BYTES);
  remembered = allocate(MOST_REMEMBERED * STATE_BYTES);
  state = allocate(STATE_BYTES);
  memory.fill(cies, 0, CIE_SLOTS * CIE_BYTES);
}

/** An unsigned number of at most 28 bits. */
function uleb(): u32 {
  let value: u32 = 0;
  for (let shift: u32 = 0; shift < 28 && at < stop; shift += 7) {
    const byte = <u32>load<u8>(at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  failed = true;
  return 0;
}

function setRule(register: u32, kind: u32, offset: i64): void {
  if (offset > LARGEST_OFFSET || offset < -LARGEST_OFFSET) failed = true;
  if (register === RETURN_ADDRESS) {
    store<u32>(state, kind, 12);
    store<i32>(state, <i32>offset, 16);
  } else if (register === FRAME_POINTER) {
    store<u32>(state, kind, 20);
    store<i32>(state, <i32>offset, 24);
  } else if (register === STACK_POINTER) {
    store<u32>(state, kind, 28);
  }
}

function restoreRule(register: u32, initial: u32): void {
  if (register === RETURN_ADDRESS) setRule(register, load<u32>(initial, 12), load<i32>(initial, 16));
  else if (register === FRAME_POINTER) setRule(register, load<u32>(initial, 20), load<i32>(initial, 24));
  else setRule(register, load<u32>(initial, 28), 0);
}

/**
 * The CFA of GNU ld's lazy PLT: stack pointer + 8, and 8 more behind the push in each entry of 16 bytes, as
 * `breg7 8; breg16 0; lit15; and; lit N; ge; lit3; shl; plus` says.
 */
function definePltCfa(end: u32): bool {
  if (at + 12 > end || load<u8>(at) !== 11) return false;
  const lit = <u32>load<u8>(at, 7);
  if (load<u32>(at, 1) !== 0x0080_0877 || load<u16>(at, 5) !== 0x1a3f || load<u32>(at, 8) !== 0x2224_332a) return false;
  if (lit < 0x30 || lit > 0x4f) return false;
  // The address may be that of the call in front of the program counter: both have to be on one side.
  const pushed = (addressBits & 15) >= lit - 0x30;
  if (pushed !== (((addressBits + 1) & 15) >= lit - 0x30)) return false;
  at += 12;
  store<u32>(state, CFA_PLT);
  store<u32>(state, STACK_POINTER, 4);
  store<u32>(state, pushed ? 16 : 8, 8);
  return true;
}

/** Runs instructions up to an offset in the code; false if one is rare. */
function run(from: u32, end: u32, limit: u32, cie: u32, initial: u32): bool {
  const codeAlignment = load<u32>(cie, 12);
  const dataAlignment = <i64>load<i32>(cie, 16);
  let location: u64 = 0;
  let depth: u32 = 0;
  failed = false;
  at = from;
  stop = end;
  while (at < end) {
    const op = <u32>load<u8>(at++);
    let step: u32 = 0;
    if (op >= 0xc0) {
      // DW_CFA_restore
      restoreRule(op & 0x3f, initial);
    } else if (op >= 0x80) {
      // DW_CFA_offset
      setRule(op & 0x3f, OFFSET, <i64>uleb() * dataAlignment);
    } else if (op >= 0x40) {
      // DW_CFA_advance_loc
      step = op & 0x3f;
    } else {
      switch (op) {
        case 0x00: // DW_CFA_nop
          break;
        case 0x02: // DW_CFA_advance_loc1
          if (at + 1 > end) return false;
          step = <u32>load<u8>(at);
          at += 1;
          break;
        case 0x03: // DW_CFA_advance_loc2
          if (at + 2 > end) return false;
          step = <u32>load<u16>(at);
          at += 2;
          break;
        case 0x04: // DW_CFA_advance_loc4
          if (at + 4 > end) return false;
          step = load<u32>(at);
          at += 4;
          break;
        case 0x07: // DW_CFA_undefined
          setRule(uleb(), UNDEFINED, 0);
          break;
        case 0x08: // DW_CFA_same_value
          setRule(uleb(), SAME, 0);
          break;
        case 0x0a: // DW_CFA_remember_state
          if (depth === MOST_REMEMBERED) return false;
          memory.copy(remembered + depth++ * STATE_BYTES, state, STATE_BYTES);
          break;
        case 0x0b: // DW_CFA_restore_state
          if (depth === 0) return false;
          memory.copy(state, remembered + --depth * STATE_BYTES, STATE_BYTES);
          break;
        case 0x0c: // DW_CFA_def_cfa
          store<u32>(state, CFA_REGISTER);
          store<u32>(state, uleb(), 4);
          store<u32>(state, uleb(), 8);
          break;
        case 0x0d: // DW_CFA_def_cfa_register
          if (load<u32>(state) !== CFA_REGISTER) return false;
          store<u32>(state, uleb(), 4);
          break;
        case 0x0e: // DW_CFA_def_cfa_offset
          if (load<u32>(state) !== CFA_REGISTER) return false;
          store<u32>(state, uleb(), 8);
          break;
        case 0x0f: // DW_CFA_def_cfa_expression
          if (!definePltCfa(end)) return false;
          break;
        case 0x2e: // DW_CFA_GNU_args_size
          uleb();
          break;
        default:
          return false;
      }
    }
    if (failed) return false;
    if (step !== 0) {
      location += <u64>step * codeAlignment;
      if (location > limit) break;
    }
  }
  return true;
}

/** What JavaScript found at the offset of a CIE; a program of no use for CIEs that are not simple. */
let usable: bool = false;
let codeAlignment: u32 = 0;
let dataAlignment: i32 = 0;
let isSignal: bool = false;
let programStart: u32 = 0;
let programEnd: u32 = 0;

export function setCie(simple: bool, code: u32, data: i32, signal: bool, start: u32, end: u32): void {
  usable = simple;
  codeAlignment = code;
  dataAlignment = data;
  isSignal = signal;
  programStart = start;
  programEnd = end;
}

/** The CIE at an offset of a section; 0 if it is not simple. */
function cieAt(files: u32, file: u32, offset: u32): u32 {
  if (cies === 0) begin();
  const cie = cies + (((offset >>> 2) * 31 + file * 67) & (CIE_SLOTS - 1)) * CIE_BYTES;
  if (load<u32>(cie) !== file + 1 || load<u32>(cie, 4) !== offset) {
    store<u32>(cie, 0);
    readCie(file, offset);
    store<u32>(cie, offset, 4);
    store<u32>(cie, codeAlignment, 12);
    store<i32>(cie, dataAlignment, 16);
    store<u32>(cie, u32(isSignal), 20);
    memory.fill(state, 0, STATE_BYTES);
    memory.fill(cie + STATE, 0, STATE_BYTES);
    const section = load<u32>(files + file * FILE_BYTES, 8);
    const isSimple = usable && run(section + programStart, section + programEnd, u32.MAX_VALUE, cie, cie + STATE);
    memory.copy(cie + STATE, state, STATE_BYTES);
    store<u32>(cie, u32(isSimple), 8);
    store<u32>(cie, file + 1);
  }
  return load<u32>(cie, 8) !== 0 ? cie : 0;
}

/** Index of the last pair of a header whose function starts at or before an address; −1 if there is none. */
function search(file: u32, relative: i64): i32 {
  const pairs = load<u32>(file);
  let low: u32 = 0;
  let high = load<u32>(file, 4);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (<i64>load<i32>(pairs + (middle << 3)) <= relative) low = middle + 1;
    else high = middle;
  }
  return <i32>low - 1;
}

/** No function is there; false if one begins a byte behind: the trampoline of a signal, whose caller does not call, may. */
function isUncovered(file: u32, address: i64, header: i64, index: i32): bool {
  rule = RULE_UNCOVERED;
  return search(file, address + 1 - header) === index;
}

/** Finds the rule at an address (SVMA); false if it takes the whole reader. */
export function ruleAt(files: u32, fileNumber: u32, address: i64): bool {
  const file = files + fileNumber * FILE_BYTES;
  rule = RULE_OTHER;
  cfaOffset = 0;
  framePointerOffset = 0;
  const header = load<i64>(file, 16);
  const index = search(file, address - header);
  if (index < 0) return isUncovered(file, address, header, index);
  const pair = load<u32>(file) + (<u32>index << 3);
  const fdeAddress = header + <i64>load<i32>(pair, 4);
  const bytes = load<u32>(file, 12);
  const offset = fdeAddress - load<i64>(file, 24);
  if (offset < 0 || offset + 17 > <i64>bytes) return false;
  const section = load<u32>(file, 8);
  const fde = section + <u32>offset;
  const length = load<u32>(fde);
  if (length > bytes - <u32>offset - 4 || length < 13) return false;
  const end = fde + 4 + length;
  const cieOffset = <i64>offset + 4 - load<u32>(fde, 4);
  if (load<u32>(fde, 4) === 0 || cieOffset < 0) return false;
  const cie = cieAt(files, fileNumber, <u32>cieOffset);
  if (cie === 0) return false;
  const start = fdeAddress + 8 + <i64>load<i32>(fde, 8);
  const codeEnd = load<i64>(file, 40);
  const size = <i64>load<i32>(fde, 12);
  const augmentationBytes = <u32>load<u8>(fde, 16);
  if (size <= 0 || augmentationBytes >= 0x80 || start > address) return false;
  if (start < load<i64>(file, 32) || start >= codeEnd) return false;
  const program = fde + 17 + augmentationBytes;
  if (program > end) return false;
  const behind = min(start + size, codeEnd);
  if (address >= behind) return isUncovered(file, address, header, index);
  if (address + 1 === behind && search(file, address + 1 - header) !== index) return false;
  addressBits = <u32>address & 15;
  memory.copy(state, cie + STATE, STATE_BYTES);
  if (!run(program, end, <u32>(address - start), cie, cie + STATE)) return false;
  simplify(cie);
  return true;
}

/** Leaves `rule` as it is where the state is not simple. */
function simplify(cie: u32): void {
  if (load<u32>(cie, 20) !== 0 || load<u32>(state, 28) !== UNSPECIFIED || load<u32>(state) === 0) return;
  const framePointer = load<u32>(state, 20);
  const saved = load<i32>(state, 24);
  if (framePointer === UNDEFINED || (framePointer === OFFSET && saved === 0)) return;
  const base = load<u32>(state, 4);
  if (base !== STACK_POINTER && base !== FRAME_POINTER) return;
  const returnAddress = load<u32>(state, 12);
  if (returnAddress === UNDEFINED) rule = RULE_OUTERMOST;
  else if (returnAddress === OFFSET && load<i32>(state, 16) === -8) {
    rule = base === STACK_POINTER ? RULE_STACK_POINTER : RULE_FRAME_POINTER;
  }
  cfaOffset = load<i32>(state, 8);
  framePointerOffset = framePointer === OFFSET ? saved : 0;
}
