// Mappings of the processes of a recording at the current time, as its records describe them. The *epoch* of a
// process identifies its mappings for users that cache places. It changes when a mapping replaces cached places.
//
//   processes  by pid, open addressing: {0 u32 1 if used; 4 i32 pid; 8 u32 epoch, 0 before its first place;
//              12 u32 mappings; 16 u32 their number; 20 u32 version, changed with each change;
//              24 u32 blocks with places, as bits of their hash, 0 if not allocated yet;
//              28 u32 1 if mappings may be of the program that it ran before}
// mappings   {0 u32 number of processes that share them; 4 u32 capacity}, from 16 on by address: {0 u64
// start; 8 u64 end;
//              16 u64 offset in the file; 24 i64 address in the process − address in the object; 32 u32 file;
//              36 u16 1 if its bias is known; 38 u16 IS_NO_FILE for memory without a file,
//              IS_FORMER for the program that the process ran before}
import { mappedFile } from "./file-names";

declare module "records";
declare function allocate(bytes: u32): u32;

export const IS_NO_FILE: u16 = 1;
const IS_FORMER: u16 = 2;
const PROCESS_BYTES: u32 = 32;
const FEWEST_PROCESSES: u32 = 64;
const HEAD_BYTES: u32 = 16;
export const MAPPING_BYTES: u32 = 40;
const FEWEST_MAPPINGS: u32 = 32;
/** Maximum bytes of all mappings, which only damaged files reach; mappings of further processes are dropped. */
const MOST_BYTES: u64 = 1 << 29;
const BLOCK_BITS: u64 = 20;
const BLOCK_BYTES: u32 = 256;

let processes: u32 = 0;
let processMask: u32 = 0;
let processCount: u32 = 0;
let epochs: u32 = 0;
let versions: u32 = 0;
let mappedBytes: u64 = 0;
/**
 * Free lists of mapping arrays, one per power of two of their capacity. Each array begins with the address of the
 * next.
 */
let free: u32 = 0;
let process: u32 = 0;

function slotOf(table: u32, mask: u32, pid: i32): u32 {
  let slot = ((<u32>pid * 0x9e37_79b1) >>> 7) & mask;
  while (true) {
    const at = table + slot * PROCESS_BYTES;
    if (load<u32>(at) === 0 || load<i32>(at, 4) === pid) return at;
    slot = (slot + 1) & mask;
  }
}

function cleared(bytes: u32): u32 {
  const at = allocate(bytes);
  memory.fill(at, 0, bytes);
  return at;
}

/**
 * Returns the entry of a process, and adds it if the pid is unknown. Adding may move the entries of other
 * processes.
 */
function processOf(pid: i32): u32 {
  if (processes === 0) {
    processes = cleared(FEWEST_PROCESSES * PROCESS_BYTES);
    processMask = FEWEST_PROCESSES - 1;
    free = cleared(32 * 4);
  }
  let at = slotOf(processes, processMask, pid);
  if (load<u32>(at) !== 0) return at;
  processCount++;
  if (processCount << 1 > processMask) {
    const mask = 2 * processMask + 1;
    const larger = cleared((mask + 1) * PROCESS_BYTES);
    for (let slot: u32 = 0; slot <= processMask; slot++) {
      const old = processes + slot * PROCESS_BYTES;
      if (load<u32>(old) !== 0) memory.copy(slotOf(larger, mask, load<i32>(old, 4)), old, PROCESS_BYTES);
    }
    processes = larger;
    processMask = mask;
    at = slotOf(processes, processMask, pid);
  }
  store<u32>(at, 1);
  store<i32>(at, pid, 4);
  return at;
}

/**
 * Takes an array for at least `count` mappings from the free lists, or allocates it; returns 0 if there is no
 * room.
 */
function takeMappings(count: u32): u32 {
  let capacity = FEWEST_MAPPINGS;
  while (capacity < count) capacity <<= 1;
  const list = free + (ctz(capacity) << 2);
  let mappings = load<u32>(list);
  if (mappings !== 0) {
    store<u32>(list, load<u32>(mappings));
  } else {
    const bytes = HEAD_BYTES + capacity * MAPPING_BYTES;
    if (mappedBytes + bytes > MOST_BYTES) return 0;
    mappedBytes += bytes;
    mappings = allocate(bytes);
  }
  store<u32>(mappings, 1);
  store<u32>(mappings, capacity, 4);
  return mappings;
}

/** Detaches a process from its mappings, and frees the array if no other process shares it. */
function leaveMappings(entry: u32): void {
  const mappings = load<u32>(entry, 12);
  store<u32>(entry, 0, 12);
  store<u32>(entry, 0, 16);
  if (mappings === 0) return;
  const sharers = load<u32>(mappings) - 1;
  store<u32>(mappings, sharers);
  if (sharers > 0) return;
  const list = free + (ctz(load<u32>(mappings, 4)) << 2);
  store<u32>(mappings, load<u32>(list));
  store<u32>(list, mappings);
}

/** Gives a process its own copy of its mappings, with room for `count`; returns false if there is no room. */
function ownMappings(entry: u32, count: u32): bool {
  const mappings = load<u32>(entry, 12);
  if (mappings !== 0 && load<u32>(mappings) === 1 && load<u32>(mappings, 4) >= count) return true;
  const own = takeMappings(count);
  const mappingCount = load<u32>(entry, 16);
  if (own !== 0 && mappingCount > 0)
    memory.copy(own + HEAD_BYTES, mappings + HEAD_BYTES, mappingCount * MAPPING_BYTES);
  leaveMappings(entry);
  if (own === 0) return false;
  store<u32>(entry, own, 12);
  store<u32>(entry, mappingCount, 16);
  return true;
}

function forget(entry: u32): void {
  leaveMappings(entry);
  store<u32>(entry, 0, 8);
  store<u32>(entry, ++versions, 20);
  store<u32>(entry, 0, 28);
}

@inline
function mappingOf(entry: u32, index: u32): u32 {
  return load<u32>(entry, 12) + HEAD_BYTES + index * MAPPING_BYTES;
}

function indexAfter(entry: u32, address: u64): u32 {
  let low: u32 = 0;
  let high = load<u32>(entry, 16);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<u64>(mappingOf(entry, middle)) <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Maps a file, and removes older mappings from its range. */
function add(entry: u32, start: u64, end: u64, fileOffset: u64, file: u32, isNoFile: bool): void {
  const count = load<u32>(entry, 16);
  if (!ownMappings(entry, count + 2)) return;
  let first = indexAfter(entry, start);
  if (first > 0 && load<u64>(mappingOf(entry, first - 1), 8) > start) first--;
  let last = first;
  while (last < count && load<u64>(mappingOf(entry, last)) < end) last++;
  const hasFront = first < last && load<u64>(mappingOf(entry, first)) < start;
  const hasBack = first < last && load<u64>(mappingOf(entry, last - 1), 8) > end;
  const oldBack = mappingOf(entry, last - 1);
  const newBack = mappingOf(entry, first + u32(hasFront) + 1);
  const behind = newBack + u32(hasBack) * MAPPING_BYTES;
  // Mappings after the range move unchanged. The cut piece in front of them is the rest of the last one.
  if (hasBack) {
    memory.copy(newBack, oldBack, (count - last + 1) * MAPPING_BYTES);
    store<u64>(newBack, load<u64>(newBack, 16) + (end - load<u64>(newBack)), 16);
    store<u64>(newBack, end);
    store<u16>(newBack, 0, 36);
  } else {
    memory.copy(behind, mappingOf(entry, last), (count - last) * MAPPING_BYTES);
  }
  if (hasFront) {
    const front = mappingOf(entry, first);
    store<u64>(front, start, 8);
    store<u16>(front, 0, 36);
  }
  const mapping = mappingOf(entry, first + u32(hasFront));
  store<u64>(mapping, start);
  store<u64>(mapping, end, 8);
  store<u64>(mapping, fileOffset, 16);
  store<u32>(mapping, file, 32);
  store<u16>(mapping, 0, 36);
  store<u16>(mapping, isNoFile ? IS_NO_FILE : 0, 38);
  store<u32>(entry, count - (last - first) + 1 + u32(hasFront) + u32(hasBack), 16);
}

function blockBit(block: u64): u32 {
  return (<u32>block * 0x9e37_79b1) >>> 21;
}

function hasPlaces(entry: u32, start: u64, end: u64): bool {
  const last = (end - 1) >> BLOCK_BITS;
  const first = start >> BLOCK_BITS;
  if (last - first > 256) return true;
  const blocks = load<u32>(entry, 24);
  for (let block = first; block <= last; block++) {
    const bit = blockBit(block);
    if (((load<u32>(blocks + ((bit >>> 5) << 2)) >>> (bit & 31)) & 1) !== 0) return true;
  }
  return false;
}

export function takeMapping(record: u32, nameOffset: u32): void {
  const length = load<u64>(record, 24);
  if (<u32>load<u16>(record, 6) < nameOffset || length === 0) return;
  const entry = processOf(load<i32>(record, 8));
  const start = load<u64>(record, 16);
  const end = start + length > start ? start + length : u64.MAX_VALUE;
  if (end === start) return;
  const file = mappedFile(record, nameOffset);
  add(entry, start, end, load<u64>(record, 32), file >>> 1, (file & 1) !== 0);
  store<u32>(entry, ++versions, 20);
  if (load<u32>(entry, 8) !== 0 && hasPlaces(entry, start, end)) store<u32>(entry, 0, 8);
}

/**
 * Replaces the program of a process. Until the new program runs, samples come from the old program's system call,
 * so the old mappings stay.
 */
export function execute(pid: i32): void {
  const entry = processOf(pid);
  if (load<u32>(entry, 28) !== 0) dropFormer(entry);
  const count = load<u32>(entry, 16);
  if (!ownMappings(entry, count)) {
    forget(entry);
    return;
  }
  for (let index: u32 = 0; index < count; index++) {
    const mapping = mappingOf(entry, index);
    store<u16>(mapping, load<u16>(mapping, 38) | IS_FORMER, 38);
  }
  store<u32>(entry, 1, 28);
}

function dropFormer(entry: u32): void {
  const count = load<u32>(entry, 16);
  if (!ownMappings(entry, count)) {
    forget(entry);
    return;
  }
  let remaining: u32 = 0;
  for (let index: u32 = 0; index < count; index++) {
    const mapping = mappingOf(entry, index);
    if ((load<u16>(mapping, 38) & IS_FORMER) !== 0) continue;
    memory.copy(mappingOf(entry, remaining++), mapping, MAPPING_BYTES);
  }
  store<u32>(entry, remaining, 16);
  store<u32>(entry, 0, 8);
  store<u32>(entry, ++versions, 20);
  store<u32>(entry, 0, 28);
}

/** Copies the mappings of a parent to a new process. */
export function fork(pid: i32, parentPid: i32): void {
  if (pid === parentPid) return;
  processOf(parentPid);
  const child = processOf(pid);
  const parent = processOf(parentPid);
  forget(child);
  const mappings = load<u32>(parent, 12);
  if (mappings === 0) return;
  store<u32>(mappings, load<u32>(mappings) + 1);
  store<u32>(child, mappings, 12);
  store<u32>(child, load<u32>(parent, 16), 16);
  store<u32>(child, load<u32>(parent, 28), 28);
}

/**
 * Selects the process for the following places.
 *
 * @param ip sampled address, in the program or in the kernel
 */
export function enterProcess(pid: i32, ip: u64): void {
  process = processOf(pid);
  if (load<u32>(process, 28) !== 0) {
    const mapping = mappingAt(ip);
    if (mapping !== 0 && (load<u16>(mapping, 38) & IS_FORMER) === 0) dropFormer(process);
  }
  if (load<u32>(process, 8) !== 0) return;
  if (load<u32>(process, 24) === 0) store<u32>(process, allocate(BLOCK_BYTES), 24);
  memory.fill(load<u32>(process, 24), 0, BLOCK_BYTES);
  store<u32>(process, ++epochs, 8);
}

@inline
export function processEpoch(): u32 {
  return load<u32>(process, 8);
}

/** Returns the number that changes with every change of the process's mappings. */
export function processVersion(): u32 {
  return load<u32>(process, 20);
}

export function processMappings(): u32 {
  return mappingOf(process, 0);
}

export function processMappingCount(): u32 {
  return load<u32>(process, 16);
}

/** Returns the mapping at an address of the process; 0 if there is none. */
export function mappingAt(address: u64): u32 {
  const index = indexAfter(process, address);
  if (index === 0) return 0;
  const mapping = mappingOf(process, index - 1);
  return address < load<u64>(mapping, 8) ? mapping : 0;
}

export function markPlace(address: u64): void {
  const bit = blockBit(address >> BLOCK_BITS);
  const word = load<u32>(process, 24) + ((bit >>> 5) << 2);
  store<u32>(word, load<u32>(word) | (1 << (bit & 31)));
}
