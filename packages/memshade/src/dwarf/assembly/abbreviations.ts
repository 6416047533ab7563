// Tables of `.debug_abbrev`, made ready to pass over entries.
import { DW_FORM_implicit_const, DW_TAG_inlined_subroutine, DW_TAG_subprogram } from "../constants";
import { enlarged, isUnusual, reserve, setUnusual } from "./memory";
import { at, end, enter, formSize, sleb, uleb } from "./values";

// An abbreviation: {u16 tag, u8 whether it has children, u8 whether it is a subroutine, u32 number of steps}, and steps.
// Steps of a subroutine, one per attribute: {u16 attribute, u16 form, i32 size, i32 constant}. Steps of others: {i32} bytes
// to pass over, or a negative size.
export const CHILDREN: u32 = 2;
export const SUBROUTINE: u32 = 3;
export const STEPS: u32 = 4;
export const FIRST_STEP: u32 = 8;
export const ATTRIBUTE_STEP: u32 = 12;

/** No real program has more; sparse code numbers above do not make for large tables. */
const MOST_CODES: u32 = 1 << 16;

/** `.debug_abbrev`. */
let section: u32 = 0;
let sectionEnd: u32 = 0;
/** Bytes that may still be read: tables that overlap without end would let a small file keep us busy for long. */
let work: i64 = 0;

export function setAbbreviations(start: u32, size: u32): void {
  section = start;
  sectionEnd = start + size;
  work = (<i64>size << 6) + (1 << 20);
}

/** By code, where an abbreviation stands; 0 for codes without. */
export let byCode: u32 = 0;
/** The first code behind those of `byCode`. */
export let codes: u32 = 0;

/** Puts the cursor behind the code of the first abbreviation of a table that has this code. */
export function findAbbreviation(offset: u32, code: u32): void {
  enterTable(offset);
  while (!isUnusual && at < end) {
    const each = uleb();
    if (each === code) return;
    if (each === 0) break;
    uleb();
    skipByte();
    while (!isUnusual && at < end) {
      const attribute = uleb();
      const form = uleb();
      if (form === DW_FORM_implicit_const) sleb();
      if ((attribute | form) === 0) break;
    }
  }
  setUnusual();
}

// @ts-ignore: decorators are of AssemblyScript
@inline
function skipByte(): void {
  enter(at + 1, end);
}

function enterTable(offset: u32): void {
  if (section === 0 || offset > sectionEnd - section) {
    setUnusual();
    enter(0, 0);
    return;
  }
  enter(section + offset, sectionEnd);
}

/** Reads the table at an offset. */
export function readTable(offset: u32): void {
  enterTable(offset);
  let room: u32 = 256;
  byCode = reserve(room * 4);
  codes = 0;
  if (isUnusual) return;
  memory.fill(byCode, 0, room * 4);
  const start = at;
  while (at < end) {
    const code = uleb();
    if (code === 0) {
      work -= at - start;
      if (work < 0) setUnusual();
      return;
    }
    if (code >= MOST_CODES || isUnusual) break;
    while (code >= room) {
      byCode = enlarged(byCode, room * 4);
      if (isUnusual) return;
      memory.fill(byCode + room * 4, 0, room * 4);
      room *= 2;
    }
    const abbreviation = readAbbreviation();
    if (isUnusual) return;
    // Of several with one code the first counts.
    if (load<u32>(byCode + code * 4) === 0) store<u32>(byCode + code * 4, abbreviation);
    codes = max(codes, code + 1);
  }
  // A table that ends too early is damaged.
  setUnusual();
}

function readAbbreviation(): u32 {
  const tag = uleb();
  const hasChildren = load<u8>(at) !== 0;
  skipByte();
  const isSubroutine = tag === DW_TAG_subprogram || tag === DW_TAG_inlined_subroutine;
  const first = at;
  let attributes: u32 = 0;
  for (;;) {
    if (at >= end || isUnusual) {
      setUnusual();
      return 0;
    }
    const attribute = uleb();
    const form = uleb();
    if (form === DW_FORM_implicit_const) sleb();
    if ((attribute | form) === 0) break;
    if (attribute > 0xffff || form > 0xffff) setUnusual();
    attributes++;
  }
  const behind = at;
  const abbreviation = reserve(FIRST_STEP + attributes * ATTRIBUTE_STEP);
  if (isUnusual) return 0;
  store<u16>(abbreviation, tag);
  store<u8>(abbreviation, hasChildren ? 1 : 0, CHILDREN);
  store<u8>(abbreviation, isSubroutine ? 1 : 0, SUBROUTINE);
  enter(first, end);
  let step = abbreviation + FIRST_STEP;
  let steps: u32 = 0;
  let passed: i32 = -1;
  for (let left = attributes; left > 0; left--) {
    const attribute = uleb();
    const form = uleb();
    const constant = form === DW_FORM_implicit_const ? sleb() : 0;
    const size = formSize(form);
    if (isSubroutine) {
      store<u16>(step, attribute);
      store<u16>(step, form, 2);
      store<i32>(step, size, 4);
      store<i32>(step, constant, 8);
      step += ATTRIBUTE_STEP;
      steps++;
    } else if (size >= 0 && passed >= 0) {
      passed += size;
      store<i32>(step - 4, passed);
    } else {
      store<i32>(step, size);
      passed = size;
      step += 4;
      steps++;
    }
  }
  store<u32>(abbreviation, steps, STEPS);
  enter(behind, end);
  return abbreviation;
}
