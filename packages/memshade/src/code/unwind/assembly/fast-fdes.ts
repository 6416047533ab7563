// Fast path for common FDEs: of known CIEs, in the 32-bit format, with the instructions that compilers use most. A
// rare or malformed FDE ends the run before it. Nothing is reported from here, and nothing is guessed.
import {
  CIES,
  CIE_SLOTS,
  FDE_ROWS,
  FDE_SIZES,
  FDE_STARTS,
  KEYED_SETS,
  MOST_FDES,
  MOST_REMEMBERED,
  MOST_ROWS,
  REMEMBERED,
  ROW_DELTAS,
  ROW_SETS,
  TRANSITION_BITS,
  WINDOW,
} from "./layout";
import { addRows, beginFde } from "./table";

const LAST_LOCATION: u32 = 0x7fff_ffff;
/** A larger step could move a location past 2^32, as code alignments are at most 255 here. */
const LARGEST_STEP: u32 = 1 << 23;

declare module "host";
/** Returns the rule set that an instruction makes of another, in FDEs of the CIE in a slot. */
declare function nextSet(slot: u32, set: u32, code: u32): u32;

/** True for `.debug_frame`, with absolute addresses of 64 bits; false for `.eh_frame` with relative ones of 32. */
let isDebugFrame: bool = false;
/** Value added to an FDE's code address (in `.eh_frame`: relative to its place in the section) to get the start. */
let origin: i64 = 0;
/** Range of the code, minus 2^31. */
let codeStart: i64 = 0;
let codeEnd: i64 = 0;
let windowOffset: u32 = 0;
/** True if rows are written directly to the table; otherwise they stay in a batch. */
let intoTable: bool = false;

export let fdeCount: u32 = 0;

export function setSection(debugFrame: bool, base: f64, start: f64, end: f64, table: bool): void {
  intoTable = table;
  isDebugFrame = debugFrame;
  origin = i64(base);
  codeStart = i64(start);
  codeEnd = i64(end);
}

export function setWindow(offset: u32): void {
  windowOffset = offset;
}

/** Number of successive slots of the transition table in which a key may be. */
const PROBES: u32 = 16;

function otherTransition(transitions: u32, entry: u32, slot: u32, set: u32, code: u32): u32 {
  if (set >= KEYED_SETS) return nextSet(slot, set, code);
  const key = (set << 16) | code;
  for (let probe: u32 = 0; probe < PROBES; probe++) {
    // A key is never 0, since that would be DW_CFA_nop.
    const found = load<u32>(transitions + entry);
    if (found === key) return load<u32>(transitions + entry, 4);
    if (found === 0) break;
    entry = (entry + 8) & ((8 << TRANSITION_BITS) - 8);
  }
  const next = nextSet(slot, set, code);
  store<u32>(transitions + entry, key);
  store<u32>(transitions + entry, next, 4);
  return next;
}

/**
 * Reads consecutive FDEs from a position in the window up to `end`.
 *
 * @returns position of the first entry that was not read
 */
export function readFdes(from: u32, end: u32): u32 {
  const headerBytes: u32 = isDebugFrame ? 24 : 17;
  let position = from;
  let fdes: u32 = 0;
  let batch: u32 = 0;
  let row: u32 = 0;
  let cieOffset: u32 = 0;
  let slot: u32 = 0;
  let alignment: u32 = 0;
  let initialSet: u32 = 0;
  let transitions: u32 = 0;
  while (position + headerBytes <= end && batch < MOST_FDES) {
    const length = load<u32>(position, WINDOW);
    if (length > end - position - 4 || length < headerBytes - 4) break;
    const next = position + 4 + length;
    if (row + length > MOST_ROWS) break;

    const id = load<u32>(position, WINDOW + 4);
    const ownCie = (isDebugFrame ? id : windowOffset + position + 4 - id) + 1;
    if (ownCie !== cieOffset) {
      slot = (ownCie >>> 2) & (CIE_SLOTS - 1);
      const cie = CIES + (slot << 4);
      if (load<u32>(cie) !== ownCie) break;
      cieOffset = ownCie;
      alignment = load<u32>(cie, 4);
      initialSet = load<u32>(cie, 8);
      transitions = load<u32>(cie, 12);
    }
    let start: i64;
    let size: i64;
    let at = position + headerBytes;
    if (isDebugFrame) {
      start = load<i64>(position, WINDOW + 8) + origin;
      size = load<i64>(position, WINDOW + 16);
    } else {
      start = i64(load<i32>(position, WINDOW + 8)) + i64(windowOffset + position) + origin;
      size = i64(load<i32>(position, WINDOW + 12));
      const augmentationBytes = <u32>load<u8>(position, WINDOW + 16);
      if (augmentationBytes >= 0x80) break;
      at += augmentationBytes;
    }
    if (at > next || size <= 0 || start < codeStart || start >= codeEnd) break;

    // The limit keeps a damaged size from making gigabytes of tables for code that does not exist.
    size = min(size, codeEnd - start);
    const firstRow = row;
    // Padding is skipped: after the last byte that is not 0, operands may follow, but no instructions.
    let last = next;
    while (last > at && load<u8>(last, WINDOW - 1) === 0) last--;
    let set = initialSet;
    let location: u32 = 0;
    let depth: u32 = 0;
    let isSimple = true;
    while (at < last) {
      const op = <u32>load<u8>(at++, WINDOW);
      let code: u32;
      let step: u32;
      if (op >= 0x80) {
        if (op < 0xc0) {
          // DW_CFA_offset
          const operand = <u32>load<u8>(at++, WINDOW);
          code = (op << 8) | operand;
          if (operand >= 0x80 || at > next) {
            isSimple = false;
            break;
          }
        } else {
          // DW_CFA_restore
          code = op << 8;
        }
      } else {
        if (op >= 0x40) {
          // DW_CFA_advance_loc
          step = op & 0x3f;
          code = 0;
        } else if (op === 0x0e) {
          // DW_CFA_def_cfa_offset
          const operand = <u32>load<u8>(at++, WINDOW);
          step = 0;
          code = 0x0e00 | operand;
          if (operand >= 0x80) {
            const high = <u32>load<u8>(at++, WINDOW);
            code = 0x4000 | (high << 7) | (operand & 0x7f);
            if (high >= 0x80) at = u32.MAX_VALUE;
          }
        } else if (op === 0x02) {
          // DW_CFA_advance_loc1
          step = <u32>load<u8>(at++, WINDOW);
          code = 0;
        } else {
          step = 0;
          code = 0;
          switch (op) {
            case 0x00: // DW_CFA_nop
              break;
            case 0x03: // DW_CFA_advance_loc2
              step = <u32>load<u16>(at, WINDOW);
              at += 2;
              break;
            case 0x04: // DW_CFA_advance_loc4
              step = load<u32>(at, WINDOW);
              at = step < LARGEST_STEP ? at + 4 : u32.MAX_VALUE;
              break;
            case 0x0a: // DW_CFA_remember_state
              if (depth < MOST_REMEMBERED) store<u32>(REMEMBERED + (depth++ << 2), set);
              else at = u32.MAX_VALUE;
              break;
            case 0x0b: // DW_CFA_restore_state
              if (depth > 0) set = load<u32>(REMEMBERED + (--depth << 2));
              else at = u32.MAX_VALUE;
              break;
            case 0x0c: {
              // DW_CFA_def_cfa
              const register = <u32>load<u8>(at, WINDOW);
              const offset = <u32>load<u8>(at, WINDOW + 1);
              code = 0x3000 | (register << 7) | offset;
              at = register < 32 && offset < 0x80 ? at + 2 : u32.MAX_VALUE;
              break;
            }
            case 0x0d: {
              // DW_CFA_def_cfa_register
              const register = <u32>load<u8>(at, WINDOW);
              code = 0x0d00 | register;
              at = register < 0x80 ? at + 1 : u32.MAX_VALUE;
              break;
            }
            case 0x2d: // DW_CFA_AARCH64_negate_ra_state
              code = 0x2d00;
              break;
            case 0x2e: // DW_CFA_GNU_args_size
              at = <u32>load<u8>(at, WINDOW) < 0x80 ? at + 1 : u32.MAX_VALUE;
              break;
            default:
              at = u32.MAX_VALUE;
          }
        }
        if (at > next) {
          isSimple = false;
          break;
        }
        if (step !== 0) {
          store<u32>(ROW_DELTAS + (row << 2), location);
          store<u32>(ROW_SETS + (row << 2), set);
          row++;
          location += step * alignment;
          if (location > LAST_LOCATION) {
            isSimple = false;
            break;
          }
          continue;
        }
        if (code === 0) continue;
      }
      const key = (set << 16) | code;
      const entry = ((key * 0x9e37_79b1) >>> (32 - TRANSITION_BITS)) << 3;
      if (load<u32>(transitions + entry) === key && set < KEYED_SETS) set = load<u32>(transitions + entry, 4);
      else set = otherTransition(transitions, entry, slot, set, code);
    }
    if (!isSimple) {
      row = firstRow;
      break;
    }
    store<u32>(ROW_DELTAS + (row << 2), location);
    store<u32>(ROW_SETS + (row << 2), set);
    row++;
    fdes++;
    position = next;
    if (intoTable) {
      beginFde(i32(start), i32(start + size), row);
      addRows(i32(start), i32(start + size), 0, row);
      row = 0;
    } else {
      store<i32>(FDE_STARTS + (batch << 2), i32(start));
      store<u32>(FDE_SIZES + (batch << 2), u32(size));
      store<u32>(FDE_ROWS + (batch << 2), firstRow);
      batch++;
    }
  }
  store<u32>(FDE_ROWS + (batch << 2), row);
  fdeCount = fdes;
  return position;
}
