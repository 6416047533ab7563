// Takes samples from the memory that formats/perf-data reads records into, and walks their stacks by simple rules.
// Rare other stacks go to the unwinder.
//
//   kernel  u64 per frame in the kernel, innermost first: its address
//   frames  u32 per frame: number of its place, innermost first
import {
  addAddresses,
  isMapped,
  limitPlaces,
  looksLikeReturnAddress,
  numberOf,
  placeAt,
  RULE_FRAME_POINTER,
  RULE_OTHER,
  RULE_OUTERMOST,
  RULE_STACK_POINTER,
  RULE_UNCOVERED,
  ruleOf,
} from "./places";
import { enterProcess, execute, fork, takeMapping } from "./processes";

export { finishText } from "./places";
export { forgetNames } from "./file-names";
export { PLACE_BYTES, places, setMapping, setRule } from "./places";
export { MAPPING_BYTES, processMappingCount, processMappings, processVersion } from "./processes";

declare module "records";
declare function next(): u32;
declare function decode(record: u32): bool;
declare function allocate(bytes: u32): u32;

declare module "host";
/** Calls `begin`, once everything before the first record was read. */
declare function start(): void;
/**
 * Unwinds the sample's stack with the full unwinder. It leaves addresses in `addresses` and returns the end reason.
 */
declare function unwind(): u32;

const TYPE_MMAP: u32 = 1;
const TYPE_COMM: u32 = 3;
const TYPE_EXIT: u32 = 4;
const TYPE_FORK: u32 = 7;
const TYPE_SAMPLE: u32 = 9;
const TYPE_MMAP2: u32 = 10;
/** First type of records that perf itself generates. */
const FIRST_USER: u32 = 64;
/** PERF_RECORD_MISC_COMM_EXEC */
const IS_EXEC: u32 = 1 << 13;
const KERNEL: i32 = -1;
const ABI_32: u32 = 1;
const ABI_64: u32 = 2;
const HAS_CALL_CHAIN: u32 = 2;
const HAS_UNWINDING: u32 = 4 | 8;

// End reasons of a stack: the indices of `END_REASONS`, and two more results.
const OUTERMOST: u32 = 0;
const ZERO: u32 = 1;
const MEMORY: u32 = 2;
const NO_RULE: u32 = 3;
const NOT_UNWOUND: u32 = 0xff;
const UNKNOWN: u32 = 0xfe;

const MAX_FRAMES: u32 = 10_000;
/** Larger values are no addresses. */
const ADDRESS_LIMIT: u64 = 1 << 53;

const CONTEXT_LOWEST: u64 = <u64>-4095;
const CONTEXT_KERNEL: u64 = <u64>-128;
const CONTEXT_USER: u64 = <u64>-512;
/** Number of words in a sample, which is smaller than 64 KiB. */
const MOST_WORDS: u32 = 1 << 13;

export let kernel: u32 = 0;
export let kernelCount: u32 = 0;
export let frames: u32 = 0;
export let frameCount: u32 = 0;
let frameCapacity: u32 = 0;
export let end: u32 = 0;
export let foreignSamples: u32 = 0;
export let damagedSamples: u32 = 0;
/** Buffer in which JavaScript leaves the lookup addresses of frames, as f64. */
export let addresses: u32 = 0;
let addressCapacity: u32 = 0;
let user: u32 = 0;
let userCount: u32 = 0;

let sample: u32 = 0;
let layouts: u32 = 0;
let isText: bool = false;
let isWalked: bool = false;
let isGuessed: bool = false;
let maxFrames: u32 = 0;

/**
 * @param at address at which the last sample is decoded
 * @param text true if the addresses are written as text; otherwise each sample is passed on
 * @param walked true if stacks are those of x86-64
 * @param guessed true if frame pointers are followed where no function is known, without further methods
 */
export function begin(at: u32, text: bool, walked: bool, guessed: bool, most: u32): void {
  sample = at;
  isText = text;
  isWalked = walked;
  isGuessed = guessed;
  maxFrames = min(most, MAX_FRAMES);
  kernel = allocate(MOST_WORDS << 3);
  user = allocate(MOST_WORDS << 3);
  reserveFrames(MAX_FRAMES);
}

/**
 * Layouts per event: {u32 offsets in the recorded registers of pc, stack pointer and frame pointer; −1 if not
 * recorded}.
 */
export function beginLayouts(events: u32): u32 {
  layouts = allocate(events * 16);
  return layouts;
}

function reserveFrames(count: u32): void {
  if (count <= frameCapacity) return;
  frameCapacity = max(count, 2 * frameCapacity);
  frames = allocate(frameCapacity << 2);
}

export function reserveAddresses(count: u32): u32 {
  if (count > addressCapacity) {
    addressCapacity = max(count, 2 * addressCapacity);
    addresses = allocate(addressCapacity << 3);
  }
  return addresses;
}

/** Returns the next record for JavaScript; 0 if there is none left in memory. */
export function nextRecord(): u32 {
  while (true) {
    const record = next();
    if (record === 0) return 0;
    const type = load<u32>(record);
    if (type >= FIRST_USER) return record;
    if (layouts === 0) start();
    if (type === TYPE_SAMPLE) {
      if (!decode(record)) {
        damagedSamples++;
        continue;
      }
      take();
      if (!isText) return record;
      addAddresses(kernel, kernelCount, frames, frameCount);
    } else if (!takeProcess(record, type)) return record;
  }
}

/**
 * Processes a record of processes. Returns true if it needs no further processing: text needs no names of threads.
 */
function takeProcess(record: u32, type: u32): bool {
  const bytes = <u32>load<u16>(record, 6);
  switch (type) {
    case TYPE_MMAP:
    case TYPE_MMAP2:
      if (bytes < 40 || load<i32>(record, 8) === KERNEL) return false;
      takeMapping(record, type === TYPE_MMAP ? 40 : 72);
      return true;
    case TYPE_COMM:
      if (bytes >= 16 && (<u32>load<u16>(record, 4) & IS_EXEC) !== 0) execute(load<i32>(record, 8));
      return isText;
    case TYPE_FORK:
      if (bytes >= 24) fork(load<i32>(record, 8), load<i32>(record, 12));
      return isText;
    case TYPE_EXIT:
      return true;
    default:
      return false;
  }
}

function take(): void {
  limitPlaces();
  enterProcess(load<i32>(sample, 12), load<u64>(sample, 40));
  const has = load<u32>(sample, 20);
  const abi = load<u32>(sample, 52);
  splitCallChain(has);
  if (abi === ABI_32) foreignSamples++;
  end = NOT_UNWOUND;
  if ((has & HAS_UNWINDING) === HAS_UNWINDING && abi === ABI_64) {
    const layout = layouts + load<u32>(sample, 8) * 16;
    if (load<i32>(layout) >= 0 && load<i32>(layout, 4) >= 0) {
      end = isWalked ? walk(layout) : UNKNOWN;
      if (end === UNKNOWN) end = unwindWhole();
    }
  }
  if (end === NOT_UNWOUND) takeCallChain();
}

/** Splits the words of a call chain at the markers in it. Guests of a hypervisor are left out. */
function splitCallChain(has: u32): void {
  kernelCount = 0;
  userCount = 0;
  if ((has & HAS_CALL_CHAIN) === 0) return;
  let at = load<u32>(sample, 56);
  let context = CONTEXT_USER;
  for (const last = at + (load<u32>(sample, 60) << 3); at < last; at += 8) {
    const word = load<u64>(at);
    if (word >= CONTEXT_LOWEST) context = word;
    else if (context === CONTEXT_KERNEL) store<u64>(kernel + (kernelCount++ << 3), word);
    // A chain of frame pointers ends with a return address of 0.
    else if (context === CONTEXT_USER && (word !== 0 || userCount === 0))
      store<u64>(user + (userCount++ << 3), word);
  }
}

/** Takes the recorded call chain, or only the address, of a sample without a copied stack. */
function takeCallChain(): void {
  const ip = load<u64>(sample, 40);
  if (userCount === 0 && kernelCount === 0) {
    if (ip < ADDRESS_LIMIT) store<u64>(user + (userCount++ << 3), ip);
    else store<u64>(kernel + (kernelCount++ << 3), ip);
  }
  frameCount = 0;
  reserveFrames(userCount);
  for (let index: u32 = 0; index < userCount; index++) {
    const address = load<u64>(user + (index << 3));
    // The first address is the program's own, even after it entered the kernel: after a system call, or at a
    // faulting instruction.
    addFrame(placeAt(index === 0 ? address : address - 1));
  }
}

@inline
function addFrame(place: u32): void {
  store<u32>(frames + (frameCount++ << 2), numberOf(place));
}

function unwindWhole(): u32 {
  frameCount = 0;
  const reason = unwind();
  const count = reason >>> 8;
  reserveFrames(count);
  for (let index: u32 = 0; index < count; index++)
    addFrame(placeAt(<u64>(<i64>load<f64>(addresses + (index << 3)))));
  return reason & 0xff;
}

@inline
function registerAt(layout: u32, index: u32): u64 {
  const offset = load<i32>(layout + (index << 2));
  return offset < 0 ? u64.MAX_VALUE : load<u64>(load<u32>(sample, 64) + <u32>offset);
}

/** Walks the copied stack; returns `UNKNOWN` if its rules are not simple. */
function walk(layout: u32): u32 {
  let address = registerAt(layout, 0);
  const start = registerAt(layout, 1);
  let framePointer = registerAt(layout, 2);
  if (address >= ADDRESS_LIMIT || start >= ADDRESS_LIMIT) return UNKNOWN;
  const stack = load<u32>(sample, 72);
  const lastWord = <i64>load<u32>(sample, 76) - 8;
  let stackPointer = start;
  let lastCfa: i64 = i64.MIN_VALUE;
  frameCount = 0;
  while (frameCount < maxFrames) {
    const place = placeAt(address);
    addFrame(place);
    const rule = ruleOf(place);
    if (rule === RULE_OTHER) return UNKNOWN;
    if (rule === RULE_OUTERMOST) return OUTERMOST;
    if (rule === RULE_UNCOVERED) {
      // A function that was just called has a return address on top of the stack; the unwinder handles it.
      if (!isGuessed || lastWord < 0 || (frameCount === 1 && looksLikeReturnAddress(load<u64>(stack))))
        return UNKNOWN;
      // If the return address is the first of a function, no call precedes it; the unwinder handles that too.
      if (frameCount > 1 && ruleOf(placeAt(address + 1)) !== RULE_UNCOVERED) return UNKNOWN;
      const saved = <i64>framePointer - <i64>start;
      if (framePointer >= ADDRESS_LIMIT || framePointer < stackPointer || (framePointer & 7) !== 0)
        return NO_RULE;
      if (saved + 8 > lastWord) return NO_RULE;
      const next = load<u64>(stack + <u32>saved);
      const pc = load<u64>(stack + <u32>saved + 8);
      const isChain = next === 0 || (next > framePointer && next < ADDRESS_LIMIT && (next & 7) === 0);
      if (pc >= ADDRESS_LIMIT) return NO_RULE;
      if (isChain ? !isMapped(pc - 1) : !looksLikeReturnAddress(pc)) return NO_RULE;
      const cfa = <i64>framePointer + 16;
      if (cfa <= lastCfa) return UNKNOWN;
      framePointer = next;
      address = pc - 1;
      lastCfa = cfa;
      stackPointer = cfa;
      continue;
    }
    if (rule === RULE_FRAME_POINTER && framePointer >= ADDRESS_LIMIT) return UNKNOWN;
    const cfa = <i64>(rule === RULE_STACK_POINTER ? stackPointer : framePointer) + <i64>load<i32>(place, 16);
    const offset = cfa - 8 - <i64>start;
    if (cfa <= lastCfa || offset < 0) return UNKNOWN;
    if (offset > lastWord) return MEMORY;
    const framePointerOffset = <i64>load<i32>(place, 20);
    if (framePointerOffset !== 0) {
      const saved = offset + 8 + framePointerOffset;
      if (saved >= 0 && saved <= lastWord) framePointer = load<u64>(stack + <u32>saved);
      // After a pop the rule of the slot is still in force, but the register already has its value back.
      else if (frameCount > 1) framePointer = u64.MAX_VALUE;
    }
    const pc = load<u64>(stack + <u32>offset);
    if (pc >= ADDRESS_LIMIT) return UNKNOWN;
    if (pc === 0) return ZERO;
    address = pc - 1;
    lastCfa = cfa;
    stackPointer = cfa;
  }
  return UNKNOWN;
}
