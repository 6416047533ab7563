// One unit of `.debug_info` after the other: their headers, and the ranges of their own entries.
import { DW_UT_skeleton, DW_UT_split_compile, DW_UT_split_type, DW_UT_type } from "../constants";
import { begin, enlarged, isUnusual, keep, reserve, setUnusual } from "./memory";
import { beginPairs, pairCount, pairs } from "./ranges";
import { readOwnRanges } from "./unit-ranges";
import { setEncoding } from "./values";

/** Bytes of a unit that are looked at. */
const HEAD: u32 = 512;
/** Of a header with 64-bit offsets, an id and the offset of a type. */
const LONGEST_HEADER: u32 = 12 + 2 + 1 + 1 + 8 + 8 + 8;

/** {f64 offset, u32 number of pairs behind this unit's}, one behind the other. */
export let units: u32 = 0;
export let unitCount: u32 = 0;
let unitRoom: u32 = 0;
/** {f64 low, f64 high} of all units' ranges. */
export let unitPairs: u32 = 0;
export let unitPairCount: u32 = 0;

/** Begins with the first unit. @returns room for `bytes` of the section, from some offset on */
export function beginScan(bytes: u32): u32 {
  begin();
  const window = reserve(bytes);
  unitRoom = 256;
  units = reserve(unitRoom * 16);
  unitCount = 0;
  beginPairs();
  return window;
}

/**
 * Reads the units in a window.
 *
 * @param size bytes that are there
 * @param offset of the first in the section, where a unit starts
 * @param sectionSize bytes of the section
 * @returns offset of the first unit that was not read: of one whose head is not in the window as a whole
 */
export function scanUnits(window: u32, size: u32, offset: f64, sectionSize: f64): f64 {
  let position: f64 = offset;
  while (position < sectionSize && !isUnusual) {
    const inWindow = position - offset;
    const left = min(f64(size) - inWindow, sectionSize - position);
    if (left < f64(LONGEST_HEADER)) {
      // At the section's end there is no unit that small that anybody would miss.
      if (position + left >= sectionSize) setUnusual();
      return position;
    }
    const header = window + <u32>inWindow;
    let length: u64 = load<u32>(header);
    let at = header + 4;
    const wide = length === 0xffff_ffff;
    if (wide) {
      length = load<u64>(at);
      at += 8;
    } else if (length >= 0xffff_fff0) {
      setUnusual();
      return position;
    }
    const next = position + f64(at - header) + f64(length);
    if (next > sectionSize) {
      setUnusual();
      return position;
    }
    const head = min(f64(HEAD), next - position);
    if (left < head) return position;
    readUnit(at, header + <u32>head, wide, position);
    position = next;
  }
  return position;
}

/** Keeps what all units have, until the sections are forgotten. */
export function keepScanned(): void {
  unitPairs = pairs;
  unitPairCount = pairCount;
  keep();
}

/** The first unit from a number on that has an address in one of its ranges, or −1. */
export function unitAround(address: f64, from: u32): i32 {
  let pair = from === 0 ? unitPairs : unitPairs + <u32>load<f64>(units + (from - 1) * 16, 8) * 16;
  for (let unit = from; unit < unitCount; unit++) {
    const behind = unitPairs + <u32>load<f64>(units + unit * 16, 8) * 16;
    for (; pair < behind; pair += 16) if (load<f64>(pair) <= address && address < load<f64>(pair, 8)) return unit;
  }
  return -1;
}

function readUnit(at: u32, behind: u32, wide: bool, offset: f64): void {
  if (at + 23 > behind) {
    setUnusual();
    return;
  }
  const version = <u32>load<u16>(at);
  at += 2;
  const offsetSize: u32 = wide ? 8 : 4;
  let isOfTypes = false;
  let addressSize: u32;
  let abbreviations: u64;
  if (version >= 5) {
    const kind = <u32>load<u8>(at);
    addressSize = load<u8>(at, 1);
    abbreviations = wide ? load<u64>(at, 2) : load<u32>(at, 2);
    at += 2 + offsetSize;
    isOfTypes = kind === DW_UT_type || kind === DW_UT_split_type;
    if (kind === DW_UT_skeleton || kind === DW_UT_split_compile) at += 8;
  } else {
    abbreviations = wide ? load<u64>(at) : load<u32>(at);
    at += offsetSize;
    addressSize = load<u8>(at);
    at += 1;
  }
  if (version < 2 || version > 5 || (addressSize !== 4 && addressSize !== 8) || abbreviations > 0xffff_ffff) {
    setUnusual();
    return;
  }
  if (isOfTypes) return;
  setEncoding(version, offsetSize, addressSize);
  if (unitCount === unitRoom) {
    units = enlarged(units, unitRoom * 16);
    unitRoom *= 2;
    if (isUnusual) return;
  }
  readOwnRanges(at, behind, <u32>abbreviations);
  const unit = units + unitCount++ * 16;
  store<f64>(unit, offset);
  store<f64>(unit, f64(pairCount), 8);
}
