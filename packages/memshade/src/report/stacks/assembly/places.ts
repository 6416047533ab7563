// Places in the code of processes, each with what it takes to get from there to the caller. One hash table serves all
// processes: a place is known by its address and the *epoch*, a number that a process gets when something is mapped over
// places that it has.
//
//   process  (made by JavaScript) {blocks that places lie in, as bits of their hash; then per mapping, by address:
//             0 u64 start; 8 u64 end; 16 i64 what makes the shown address of an address; 24 u32 number of the module, –}
//   modules  {0 i64 address in the process − address in the object; 8 u32 file; 12 u32 1 not asked, 2 rules at hand, 3 none}
//   places   {0 u64 address; 8 u32 epoch; 12 u32 rule; 16 i32 CFA offset; 20 i32 frame pointer offset; 24 u32 module + 1;
//             28 u32 1 if a return address leads there, 2 if not, 0 not asked; 32 16 digits of the shown address}
import { cfaOffset, FILE_BYTES, framePointerOffset, rule, ruleAt, RULE_OTHER, RULE_UNCOVERED } from "../../../unwind/assembly/simple-rule";
import { writeHex } from "./hex";

@external("records", "allocate")
declare function allocate(bytes: u32): u32;
/** Calls `setProcess` for a process. */
@external("host", "findProcess")
declare function findProcess(pid: i32): void;
/** Calls `setModule` for a module. */
@external("host", "openModule")
declare function openModule(module: u32): void;
/** Calls `setRule` for an address of a module (SVMA), where no function may be known to be. */
@external("host", "findRule")
declare function findRule(module: u32, address: f64, isUncovered: bool): void;
/** Whether an address looks like one that a call returns to. */
@external("host", "isReturnAddress")
declare function isReturnAddress(address: f64): bool;
/** All places are forgotten. */
@external("host", "forgetPlaces")
declare function forgetPlaces(): void;

export const PLACE_BYTES: u32 = 48;
export const PLACE_TEXT: u32 = 32;
const BLOCK_BITS: u64 = 20;
export const BLOCK_WORDS: u32 = 64;
const MAPPING_BYTES: u32 = 32;
const MODULE_BYTES: u32 = 16;
const PROCESS_SLOTS: u32 = 64;
const PROCESS_BYTES: u32 = 16;
/** Places that are kept from sample to sample at most; large programs have some ten thousand in a profile. */
const MOST_PLACES: u32 = 1 << 18;

/** By pid: {u32 pid + 1; u32 epoch; u32 address; u32 number of mappings}. */
let processes: u32 = 0;
/** The process that samples are of now. */
let process: u32 = 0;
let modules: u32 = 0;
let moduleCapacity: u32 = 0;
export let files: u32 = 0;
let fileCapacity: u32 = 0;
export let places: u32 = 0;
let placeCount: u32 = 0;
let placeCapacity: u32 = 0;
/** Open addressing: number of a place + 1. */
let slots: u32 = 0;
let slotMask: u32 = 0;
/** The rule that JavaScript found. */
let foundRule: u32 = 0;
let foundCfaOffset: i32 = 0;
let foundFramePointerOffset: i32 = 0;

function larger(old: u32, oldBytes: u32, bytes: u32): u32 {
  const at = allocate(bytes);
  memory.copy(at, old, oldBytes);
  memory.fill(at + oldBytes, 0, bytes - oldBytes);
  return at;
}

/** Turns to the process that the next places are of. */
export function enterProcess(pid: i32): void {
  if (processes === 0) processes = larger(0, 0, PROCESS_SLOTS * PROCESS_BYTES);
  process = processes + ((<u32>pid * 0x9e37_79b1) >>> 26) * PROCESS_BYTES;
  if (load<u32>(process) === <u32>pid + 1) return;
  findProcess(pid);
  store<u32>(process, pid + 1);
}

export function setProcess(epoch: u32, address: u32, mappings: u32): void {
  store<u32>(process, epoch, 4);
  store<u32>(process, address, 8);
  store<u32>(process, mappings, 12);
}

/** Makes sure that a process is asked for again: something was mapped in it. */
export function forgetProcess(pid: i32): void {
  if (processes === 0) return;
  const known = processes + ((<u32>pid * 0x9e37_79b1) >>> 26) * PROCESS_BYTES;
  if (load<u32>(known) === <u32>pid + 1) store<u32>(known, 0);
}

function blockBit(block: u64): u32 {
  return (<u32>block * 0x9e37_79b1) >>> 21;
}

/** Whether a process, at that address, may have places in a range of addresses. */
export function hasPlaces(known: u32, start: f64, end: f64): bool {
  const last = (<u64>end - 1) >> BLOCK_BITS;
  const first = <u64>start >> BLOCK_BITS;
  if (last - first > 256) return true;
  for (let block = first; block <= last; block++) {
    const bit = blockBit(block);
    if (((load<u32>(known + ((bit >>> 5) << 2)) >>> (bit & 31)) & 1) !== 0) return true;
  }
  return false;
}

/** Makes room for a file, and returns where it is described: simple-rule.ts. */
export function fileAt(file: u32): u32 {
  if (file >= fileCapacity) {
    const capacity = max(2 * fileCapacity, max(256, file + 1));
    files = larger(files, fileCapacity * FILE_BYTES, capacity * FILE_BYTES);
    fileCapacity = capacity;
  }
  return files + file * FILE_BYTES;
}

export function setModule(module: u32, bias: f64, file: u32, hasRules: bool): void {
  const at = modules + module * MODULE_BYTES;
  store<i64>(at, <i64>bias);
  store<u32>(at, file, 8);
  store<u32>(at, hasRules ? 2 : 3, 12);
}

export function setRule(found: u32, cfa: i32, framePointer: i32): void {
  foundRule = found;
  foundCfaOffset = cfa;
  foundFramePointerOffset = framePointer;
}

/** The mapping at an address; 0 if there is none. */
function mappingAt(address: u64): u32 {
  const mappings = load<u32>(process, 8) + 4 * BLOCK_WORDS;
  let low: u32 = 0;
  let high = load<u32>(process, 12);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<u64>(mappings + middle * MAPPING_BYTES) <= address) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return 0;
  const mapping = mappings + (low - 1) * MAPPING_BYTES;
  return address < load<u64>(mapping, 8) ? mapping : 0;
}

function moduleAt(module: u32): u32 {
  if (module >= moduleCapacity) {
    const capacity = max(2 * moduleCapacity, max(1024, module + 1));
    modules = larger(modules, moduleCapacity * MODULE_BYTES, capacity * MODULE_BYTES);
    moduleCapacity = capacity;
  }
  const at = modules + module * MODULE_BYTES;
  if (load<u32>(at, 12) === 0) openModule(module);
  return at;
}

// @ts-ignore: decorators are of AssemblyScript
@inline
function slotOf(address: u64, epoch: u32): u32 {
  return <u32>(((address ^ (<u64>epoch << 40)) * 0x9e37_79b9_7f4a_7c15) >> 32) & slotMask;
}

/** Forgets all places when there are very many: between two samples, as one refers to its own. */
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

/** Address of the place at an address at which a frame is looked up. It moves when places are added. */
// @ts-ignore: decorators are of AssemblyScript
@inline
export function placeAt(address: u64): u32 {
  const epoch = load<u32>(process, 4);
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
  let module: u32 = 0;
  let shown = address;
  let found = RULE_OTHER;
  let cfa: i32 = 0;
  let framePointer: i32 = 0;
  if (mapping !== 0) {
    module = load<u32>(mapping, 24);
    shown += load<u64>(mapping, 16);
    const known = moduleAt(module);
    const own = <i64>address - load<i64>(known);
    const isFound = load<u32>(known, 12) === 2 && ruleAt(files, load<u32>(known, 8), own);
    if (isFound && rule !== RULE_UNCOVERED) {
      found = rule;
      cfa = cfaOffset;
      framePointer = framePointerOffset;
    } else {
      findRule(module, <f64>own, isFound);
      found = foundRule;
      cfa = foundCfaOffset;
      framePointer = foundFramePointerOffset;
    }
    module++;
  }
  const bit = blockBit(address >> BLOCK_BITS);
  const word = load<u32>(process, 8) + ((bit >>> 5) << 2);
  store<u32>(word, load<u32>(word) | (1 << (bit & 31)));
  makeRoom();
  const place = placeCount++;
  insert(slotOf(address, epoch), place);
  const at = places + place * PLACE_BYTES;
  store<u64>(at, address);
  store<u32>(at, epoch, 8);
  store<u32>(at, found, 12);
  store<i32>(at, cfa, 16);
  store<i32>(at, framePointer, 20);
  store<u32>(at, module, 24);
  store<u32>(at, 0, 28);
  writeHex(at + PLACE_TEXT, shown);
  return at;
}

/** Whether something is mapped at an address. */
export function isMapped(address: u64): bool {
  return mappingAt(address) !== 0;
}

/** Whether a value looks like an address that a call returns to. */
export function looksLikeReturnAddress(value: u64): bool {
  if (!isMapped(value - 1)) return false;
  const place = placeAt(value - 1);
  if (load<u32>(place, 28) === 0) store<u32>(place, isReturnAddress(<f64>value) ? 1 : 2, 28);
  return load<u32>(place, 28) === 1;
}

/** Number of the place at an address in the memory. */
export function numberOf(place: u32): u32 {
  return (place - places) / PLACE_BYTES;
}
