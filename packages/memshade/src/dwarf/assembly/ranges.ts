// Range lists of `.debug_ranges` (DWARF 2 to 4, section 2.17.3) and `.debug_rnglists` (DWARF 5, section 7.25).
import {
  DW_FORM_rnglistx,
  DW_RLE_base_address,
  DW_RLE_base_addressx,
  DW_RLE_end_of_list,
  DW_RLE_offset_pair,
  DW_RLE_start_end,
  DW_RLE_start_length,
  DW_RLE_startx_endx,
  DW_RLE_startx_length,
} from "../constants";
import { enlarged, isUnusual, reserve, setUnusual } from "./memory";
import { addressSize, at, end, enter, moveTo, offsetSize, uleb, unsignedAt, version } from "./values";

const REMOVED_FROM: f64 = 9223372036854775808.0;

/** Sections: where they are, and their sizes. */
let oldLists: u32 = 0;
let oldListsSize: u32 = 0;
let newLists: u32 = 0;
let newListsSize: u32 = 0;
let addresses: u32 = 0;
let addressesSize: u32 = 0;
/** Entries that may still be read: lists that overlap without end would let a small file keep us busy for long. */
let work: i64 = 0;

export function setOldLists(start: u32, size: u32): void {
  oldLists = start;
  oldListsSize = size;
}

export function setNewLists(start: u32, size: u32): void {
  newLists = start;
  newListsSize = size;
}

export function setAddresses(start: u32, size: u32): void {
  addresses = start;
  addressesSize = size;
}

export function setWork(entries: f64): void {
  work = <i64>entries;
}

/** What offsets in lists count from, and where the tables start that indices count from. */
let unitBase: f64 = 0;
let addressesBase: u32 = 0;
let listsBase: u32 = 0;

export function setBases(base: f64, ofAddresses: u32, ofLists: u32): void {
  unitBase = base;
  addressesBase = ofAddresses;
  listsBase = ofLists;
}

/** {f64 low, f64 high} of the ranges that were read. */
export let pairs: u32 = 0;
export let pairCount: u32 = 0;
let pairRoom: u32 = 0;

export function beginPairs(): void {
  pairRoom = 64;
  pairs = reserve(pairRoom * 16);
  pairCount = 0;
}

export function forgetPairs(): void {
  pairCount = 0;
}

export function addPair(low: f64, high: f64): void {
  if (pairCount === pairRoom) {
    pairs = enlarged(pairs, pairRoom * 16);
    pairRoom *= 2;
  }
  if (isUnusual) return;
  const pair = pairs + pairCount++ * 16;
  store<f64>(pair, low);
  store<f64>(pair, high, 8);
}

/** What linkers put in place of addresses of removed code. */
export function isTombstone(address: f64): bool {
  return addressSize === 4 ? address === 4294967295.0 : address >= REMOVED_FROM;
}

function isListTombstone(address: f64): bool {
  return addressSize === 4 ? address === 4294967294.0 : address >= REMOVED_FROM;
}

/** The address at an index of `.debug_addr`. */
export function addressAt(index: u32): f64 {
  const offset = <u64>addressesBase + <u64>index * addressSize;
  if (addresses === 0 || offset + addressSize > addressesSize) {
    setUnusual();
    return 0;
  }
  return f64(unsignedAt(addresses + <u32>offset, addressSize));
}

/** Adds the ranges of the list that an attribute's value names; the cursor stays where it is. */
export function readRanges(form: u32, value: i64): void {
  if (value < 0 || value > i64(u32.MAX_VALUE)) {
    setUnusual();
    return;
  }
  const backAt = at;
  const backEnd = end;
  if (version >= 5) readNewList(form, <u32>value);
  else readOldList(<u32>value);
  enter(backAt, backEnd);
}

function readOldList(offset: u32): void {
  const entry = addressSize * 2;
  let origin = unitBase;
  for (let position: u64 = offset; oldLists !== 0 && position + entry <= oldListsSize; position += entry) {
    if (--work < 0) break;
    const from = oldLists + <u32>position;
    const start = f64(unsignedAt(from, addressSize));
    const stop = f64(unsignedAt(from + addressSize, addressSize));
    if (start === 0 && stop === 0) return;
    if (addressSize === 4 ? start === 4294967295.0 : start >= REMOVED_FROM) {
      // All bits set choose a new base. With eight bytes a removed function looks alike, and is told by its end.
      if (addressSize === 4 || stop < REMOVED_FROM) origin = stop;
      continue;
    }
    if (isListTombstone(start) || isListTombstone(origin)) continue;
    addPair(origin + start, origin + stop);
  }
  setUnusual();
}

function addUnlessRemoved(low: f64, high: f64): void {
  if (!isTombstone(low)) addPair(low, high);
}

/** An index goes through the table of offsets behind the unit's base. */
function offsetOfList(index: u32): u64 {
  const place = <u64>listsBase + <u64>index * offsetSize;
  if (place + offsetSize > newListsSize) {
    setUnusual();
    return 0;
  }
  return listsBase + unsignedAt(newLists + <u32>place, offsetSize);
}

function address(): f64 {
  const value = f64(unsignedAt(at, addressSize));
  moveTo(at + addressSize);
  return value;
}

function readNewList(form: u32, value: u32): void {
  if (newLists === 0) {
    setUnusual();
    return;
  }
  const offset = form === DW_FORM_rnglistx ? offsetOfList(value) : value;
  if (offset > newListsSize) {
    setUnusual();
    return;
  }
  let base = unitBase;
  enter(newLists + <u32>offset, newLists + newListsSize);
  while (at < end && !isUnusual) {
    if (--work < 0) break;
    const kind = <u32>load<u8>(at);
    moveTo(at + 1);
    switch (kind) {
      case DW_RLE_end_of_list:
        return;
      case DW_RLE_base_addressx:
        base = addressAt(uleb());
        break;
      case DW_RLE_startx_endx: {
        const low = addressAt(uleb());
        addUnlessRemoved(low, addressAt(uleb()));
        break;
      }
      case DW_RLE_startx_length: {
        const low = addressAt(uleb());
        addUnlessRemoved(low, low + f64(uleb()));
        break;
      }
      case DW_RLE_offset_pair: {
        const low = f64(uleb());
        const high = f64(uleb());
        if (!isTombstone(low) && !isTombstone(base)) addPair(base + low, base + high);
        break;
      }
      case DW_RLE_base_address:
        base = address();
        break;
      case DW_RLE_start_end: {
        const low = address();
        addUnlessRemoved(low, address());
        break;
      }
      case DW_RLE_start_length: {
        const low = address();
        addUnlessRemoved(low, low + f64(uleb()));
        break;
      }
      default:
        setUnusual();
    }
  }
  setUnusual();
}
