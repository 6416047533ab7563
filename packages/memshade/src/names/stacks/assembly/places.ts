// Places in the code of processes, each with the rule for its caller. One hash table serves all processes: the key
// of a place is its address and the epoch of its process (processes.ts).
//
//   places   {0 u64 address; 8 u32 epoch; 12 u32 rule, or RULE_UNASKED; 16 i32 CFA offset; 20 i32 frame pointer offset;
//            24 u32 –; 28 u32 1 if a return address leads there, 2 if not, 0 if unknown; 32 16 digits of the shown address}

import { IS_NO_FILE, mappingAt, markPlace, processEpoch } from "./processes";

declare module "records";
declare function allocate(bytes: u32): u32;

declare module "host";
/** Calls `setMapping` for a mapping. */
declare function openMapping(mapping: u32): void;
/** Calls `setRule` for an address of a file (SVMA). */
declare function findRule(file: u32, address: f64): void;
/** Returns true if an address of a file (SVMA) could be a return address. */
declare function isReturnAddress(file: u32, address: f64): bool;
/** Notifies the host that all places were cleared. */
declare function forgetPlaces(): void;

export const PLACE_BYTES: u32 = 48;
const PLACE_TEXT: u32 = 32;
/** Number of places from which on all are cleared; profiles of large programs have some ten thousand. */
const MOST_PLACES: u32 = 1 << 18;
// Rule of a place: `SMALL_RULE` of rule-step.ts in `unwind/`.
export const RULE_OTHER: u32 = 0;
export const RULE_OUTERMOST: u32 = 1;
export const RULE_STACK_POINTER: u32 = 2;
export const RULE_FRAME_POINTER: u32 = 3;
export const RULE_UNCOVERED: u32 = 4;
const RULE_UNASKED: u32 = 5;

export let places: u32 = 0;
let placeCount: u32 = 0;
let placeCapacity: u32 = 0;
/** Open addressing: number of a place + 1. */
let slots: u32 = 0;
let slotMask: u32 = 0;
let foundRule: u32 = 0;
let foundCfaOffset: i32 = 0;
let foundFramePointerOffset: i32 = 0;

function larger(old: u32, oldBytes: u32, bytes: u32): u32 {
  const at = allocate(bytes);
  memory.copy(at, old, oldBytes);
  memory.fill(at + oldBytes, 0, bytes - oldBytes);
  return at;
}

/** @param bias address in the process − address in the object */
export function setMapping(mapping: u32, bias: f64): void {
  store<i64>(mapping, <i64>bias, 24);
  store<u16>(mapping, 1, 36);
}

export function setRule(found: u32, cfa: i32, framePointer: i32): void {
  foundRule = found;
  foundCfaOffset = cfa;
  foundFramePointerOffset = framePointer;
}

/** Address in the file's own addresses (SVMA) of an address in a mapped piece. */
function addressInFile(mapping: u32, address: u64): i64 {
  if (load<u16>(mapping, 36) === 0) openMapping(mapping);
  return <i64>address - load<i64>(mapping, 24);
}

@inline
function slotOf(address: u64, epoch: u32): u32 {
  return <u32>(((address ^ ((<u64>epoch) << 40)) * 0x9e37_79b9_7f4a_7c15) >> 32) & slotMask;
}

/**
 * Clears all places if there are very many. The call must come between two samples, since a sample refers to its
 * own places.
 */
export function limitPlaces(): void {
  if (placeCount < MOST_PLACES) return;
  placeCount = 0;
  memory.fill(slots, 0, (slotMask + 1) << 2);
  forgetPlaces();
}

function makeRoom(): void {
  if (placeCount < placeCapacity) return;
  const capacity = max(2 * placeCapacity, 1 << 12);
  places = larger(places, placeCapacity * PLACE_BYTES, capacity * PLACE_BYTES);
  placeCapacity = capacity;
  slots = larger(0, 0, capacity << 3);
  slotMask = 2 * capacity - 1;
  for (let place: u32 = 0; place < placeCount; place++) {
    const at = places + place * PLACE_BYTES;
    insert(slotOf(load<u64>(at), load<u32>(at, 8)), place);
  }
}

function insert(first: u32, place: u32): void {
  let slot = first;
  while (load<u32>(slots + (slot << 2)) !== 0) slot = (slot + 1) & slotMask;
  store<u32>(slots + (slot << 2), place + 1);
}

/** Returns the pointer to the place of a lookup address. It moves when places are added. */
@inline
export function placeAt(address: u64): u32 {
  const epoch = processEpoch();
  if (slots !== 0) {
    for (let slot = slotOf(address, epoch); ; slot = (slot + 1) & slotMask) {
      const found = load<u32>(slots + (slot << 2));
      if (found === 0) break;
      const at = places + (found - 1) * PLACE_BYTES;
      if (load<u64>(at) === address && load<u32>(at, 8) === epoch) return at;
    }
  }
  return addPlace(address, epoch);
}

function addPlace(address: u64, epoch: u32): u32 {
  const mapping = mappingAt(address);
  let shown = address;
  if (mapping !== 0 && (load<u16>(mapping, 38) & IS_NO_FILE) === 0)
    shown += load<u64>(mapping, 16) - load<u64>(mapping);
  markPlace(address);
  makeRoom();
  const place = placeCount++;
  insert(slotOf(address, epoch), place);
  const at = places + place * PLACE_BYTES;
  store<u64>(at, address);
  store<u32>(at, epoch, 8);
  store<u32>(at, RULE_UNASKED, 12);
  store<u32>(at, 0, 28);
  writeHex(at + PLACE_TEXT, shown);
  return at;
}

/** Returns the rule of a place. Recorded call chains need no rules, so their files are not opened. */
@inline
export function ruleOf(place: u32): u32 {
  const rule = load<u32>(place, 12);
  return rule === RULE_UNASKED ? findRuleOf(place) : rule;
}

function findRuleOf(place: u32): u32 {
  const mapping = mappingAt(load<u64>(place));
  let found = RULE_OTHER;
  if (mapping !== 0) {
    findRule(load<u32>(mapping, 32), <f64>addressInFile(mapping, load<u64>(place)));
    found = foundRule;
    store<i32>(place, foundCfaOffset, 16);
    store<i32>(place, foundFramePointerOffset, 20);
  }
  store<u32>(place, found, 12);
  return found;
}

export function isMapped(address: u64): bool {
  return mappingAt(address) !== 0;
}

export function looksLikeReturnAddress(value: u64): bool {
  const mapping = mappingAt(value - 1);
  if (mapping === 0) return false;
  const place = placeAt(value - 1);
  if (load<u32>(place, 28) === 0) {
    const own = <f64>addressInFile(mapping, value);
    store<u32>(place, isReturnAddress(load<u32>(mapping, 32), own) ? 1 : 2, 28);
  }
  return load<u32>(place, 28) === 1;
}

export function numberOf(place: u32): u32 {
  return (place - places) / PLACE_BYTES;
}

function writeHex(at: u32, value: u64): void {
  let rest = value;
  store<u64>(at, 0x2020_2020_2020_2020);
  store<u64>(at, 0x2020_2020_2020_2020, 8);
  let digit = at + 16;
  do {
    const nibble = <u32>rest & 15;
    store<u8>(--digit, nibble < 10 ? 0x30 + nibble : 0x57 + nibble);
    rest >>= 4;
  } while (rest !== 0);
}

// Addresses of samples, as `perf script -F ip --no-inline` prints them, with millions of lines.

/** Writes text from a buffer that is overwritten afterwards. */
declare function write(address: u32, bytes: u32): void;

const BATCH_BYTES: u32 = 1 << 17;
/** A tab, 16 digits and the end of the line. */
const LINE_BYTES: u32 = 18;
const TAB: u8 = 9;
const NEWLINE: u8 = 10;

let batch: u32 = 0;
let length: u32 = 0;

export function finishText(): void {
  if (length > 0) write(batch, length);
  length = 0;
}

export function addAddresses(kernel: u32, kernelCount: u32, frames: u32, frameCount: u32): void {
  if (batch === 0) batch = allocate(BATCH_BYTES);
  addByte(NEWLINE);
  for (let index: u32 = 0; index < kernelCount; index++) {
    const at = beginLine();
    writeHex(at + 1, load<u64>(kernel + (index << 3)));
  }
  for (let index: u32 = 0; index < frameCount; index++) {
    const text = places + load<u32>(frames + (index << 2)) * PLACE_BYTES + PLACE_TEXT;
    const at = beginLine();
    store<u64>(at + 1, load<u64>(text));
    store<u64>(at + 9, load<u64>(text, 8));
  }
  addByte(NEWLINE);
}

function addByte(byte: u8): void {
  if (length === BATCH_BYTES) finishText();
  store<u8>(batch + length++, byte);
}

@inline
function beginLine(): u32 {
  if (length + LINE_BYTES > BATCH_BYTES) finishText();
  const at = batch + length;
  store<u8>(at, TAB);
  store<u8>(at, NEWLINE, 17);
  length += LINE_BYTES;
  return at;
}
