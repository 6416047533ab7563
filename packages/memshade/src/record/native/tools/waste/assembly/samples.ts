// Sampling of blocks. When a run is sampled, its stores use ids of the current context until the block runs again. The
// fate of these bytes is thus counted per context, and so are silent stores. A context is the whole call path, or the
// nearest caller outside of the block's object. `sample-routine.ts` calls `sample_block`.
import { prepareContexts, settledNode } from "../../../assembly/front-end/calls";
import {
  Link,
  Module,
  StackFrame,
  STACK_FRAME_BYTES,
  Thread,
  Tls,
  WALKED,
} from "../../../assembly/layout.generated";
import { lock, unlock } from "../../../assembly/lock";
import { load32, load64, store32, store64, tlsLoad, tlsStore } from "../../../assembly/machine";
import { knownModule } from "../../../assembly/modules";
import { isOpen, isOver } from "../../../assembly/open";
import { step, Step } from "../../../assembly/step";
import { currentThread } from "../../../assembly/threads";
import { walkInterrupted } from "../../../assembly/walk";
import { CONTROL } from "../../../../tools/heap/assembly/imports";
import { Control } from "../../../../tools/heap/assembly/layout.generated";
import {
  FIRST_ID,
  LAST_ID,
  MOST_SAMPLED_IDS,
  NEXT_ID,
  OVERFLOW,
  SAMPLE_PERIOD,
  SAMPLED,
  SAMPLED_BLOCK_SLOTS,
  SAMPLED_BYTES,
  SAMPLED_HASH_BITS,
  Sampled,
  SampledBlock,
  SampledHead,
  SLOT_BYTES,
  STORE_SLOTS,
} from "./layout.generated";

const LOWEST: u64 = 0x0001_0001_0001_0001;
const TABLE_END: u32 = SampledHead.table + (4 << SAMPLED_HASH_BITS);
const MOST_TRIES: u32 = 64;
/**
 * Gaps between samples grow with the runs of a block up to the usual gap, so that rare blocks are sampled more often.
 */
const GAPS_PER_RUN: u64 = 4;

/** Limit of frames of the block's own object that are skipped to find the caller. */
const MOST_INSIDE: u32 = 64;

let random: u64 = 0;

/**
 * Begins or ends a sample of a block.
 *
 * `counts`: number of stores, and of loads above bit 16. `address`: the block's address. `isByPath`: the context is the
 * whole call path.
 */
export function sample_block(
  block: u64,
  counts: u64,
  address: u64,
  stackPointer: u64,
  framePointer: u64,
  isByPath: u64,
): void {
  if (!isOpen() || isOver() || tlsLoad(Tls.guard) !== 0) return;
  tlsStore(Tls.guard, 1);
  const thread = currentThread();
  if (thread !== 0) {
    const isSampled = load64(block + SampledBlock.current) !== 0;
    let caller: u32 = 0;
    if (!isSampled) {
      if (isByPath !== 0) walkInterrupted(thread, stackPointer - 8, address, framePointer);
      else caller = outsideCaller(thread, stackPointer - 8, address, framePointer);
    }
    if (lock(thread + Thread.room)) {
      if (isSampled) endSample(block, counts);
      else beginSample(block, counts, isByPath !== 0 ? pathOf(thread) : caller);
      unlock();
    }
  }
  tlsStore(Tls.guard, 0);
}

/** Returns the site of the nearest caller outside of the object that contains `address`; 0 if it is unknown. */
function outsideCaller(thread: u32, place: u64, address: u64, framePointer: u64): u32 {
  let frame: usize = thread + WALKED;
  let next: usize = frame + STACK_FRAME_BYTES;
  store<u64>(frame, place, StackFrame.place);
  store<u64>(frame, address, StackFrame.address);
  store<u64>(frame, framePointer, StackFrame.framePointer);
  store<u32>(frame, Link.unchecked | Link.interrupted, StackFrame.link);
  for (let tries: u32 = 0; tries < MOST_INSIDE; tries++) {
    const result = step(frame, next, thread + Thread.room);
    // The first step looked up the rule of the block's object, so the object is known now.
    const module = knownModule(address);
    if (module === 0) return 0;
    const at = load<u64>(frame, StackFrame.address);
    if (at < load<u64>(module, Module.start) || at >= load<u64>(module, Module.end))
      return load<u32>(frame, StackFrame.site);
    if (result !== Step.made) return 0;
    const last = frame;
    frame = next;
    next = last;
  }
  return 0;
}

/** Returns the node of the walked path; 0 if the table is full. */
function pathOf(thread: u32): u32 {
  if (load<u32>(CONTROL, Control.childTable) === 0) prepareContexts();
  return settledNode(thread);
}

/** Sets the countdown. The sampling routine has already added a whole period to the runs. */
function restartCountdown(block: u64, gap: u64): void {
  store64(block, gap);
  store64(block + SampledBlock.runs, load64(block + SampledBlock.runs) + gap - SAMPLE_PERIOD);
}

/** @param context 0 if it is unknown */
function beginSample(block: u64, counts: u64, context: u32): void {
  if (load64(block + SampledBlock.current) !== 0) return;
  const record = context === 0 ? 0 : recordOf(context, block, counts);
  if (record === 0) {
    const refused = <u64>SAMPLED + SampledHead.refused;
    store64(refused, load64(refused) + 1);
    return;
  }
  store64(record + Sampled.samples, load64(record + Sampled.samples) + 1);
  store64(record + Sampled.runs, load64(record + Sampled.runs) + load64(block + SampledBlock.gap) + 1);
  take(block, record, counts, false);
  setIds(block, <u32>counts & 0xffff, load32(record + Sampled.firstId));
  store64(block + SampledBlock.current, record);
  restartCountdown(block, 0);
}

function endSample(block: u64, counts: u64): void {
  const record = load64(block + SampledBlock.current);
  if (record === 0) return;
  store64(block + SampledBlock.current, 0);
  take(block, record, counts, true);
  setIds(block, <u32>counts & 0xffff, load32(block + SampledBlock.base));
  random = random * 6364136223846793005 + 1442695040888963407;
  const runs = load64(block + SampledBlock.runs) - SAMPLE_PERIOD;
  const gap = (random >> 33) % (2 * min(<u64>SAMPLE_PERIOD, 1 + runs / GAPS_PER_RUN));
  store64(block + SampledBlock.gap, gap);
  restartCountdown(block, gap);
}

/** Adds the block's current counts to the record at the end of a sample. Subtracts them at the beginning. */
function take(block: u64, record: u64, counts: u64, isEnd: bool): void {
  let to = record + Sampled.counts;
  let from = block + SAMPLED_BLOCK_SLOTS * SLOT_BYTES;
  for (let i = counts & 0xffff; i > 0; i--, from += STORE_SLOTS * SLOT_BYTES, to += 8)
    addTo(to, load64(from + SLOT_BYTES), isEnd);
  for (let i = counts >> 16; i > 0; i--, from += SLOT_BYTES, to += 8) addTo(to, load64(from), isEnd);
}

@inline
function addTo(at: u64, count: u64, isEnd: bool): void {
  store64(at, isEnd ? load64(at) + count : load64(at) - count);
}

function setIds(block: u64, stores: u32, first: u32): void {
  let at = block + SAMPLED_BLOCK_SLOTS * SLOT_BYTES;
  for (let i: u32 = 0; i < stores; i++, at += STORE_SLOTS * SLOT_BYTES)
    store64(at, <u64>(first === OVERFLOW ? first : first + i) * LOWEST);
}

/** Finds or makes the record of a block in a context. Returns 0 if there is no room. */
function recordOf(context: u32, block: u64, counts: u64): u64 {
  const mixed = (((<u64>context) << 32) | block) * 0x9e37_79b9_7f4a_7c15;
  let hash = <u32>(mixed >> (64 - SAMPLED_HASH_BITS));
  for (let tries: u32 = 0; tries < MOST_TRIES; tries++) {
    const entry = <u64>SAMPLED + SampledHead.table + 4 * <u64>hash;
    const place = load32(entry);
    if (place === 0) return newRecord(entry, context, block, counts);
    const record = <u64>SAMPLED + place;
    if (load32(record + Sampled.context) === context && load32(record + Sampled.block) === <u32>block)
      return record;
    hash = (hash + 1) & ((1 << SAMPLED_HASH_BITS) - 1);
  }
  return 0;
}

function newRecord(entry: u64, context: u32, block: u64, counts: u64): u64 {
  const stores = <u32>counts & 0xffff;
  const loads = <u32>counts >>> 16;
  const place = max(TABLE_END, load32(<u64>SAMPLED + SampledHead.next));
  const ids = load32(<u64>SAMPLED + SampledHead.ids) + stores;
  const end = place + Sampled.counts + 8 * (stores + loads);
  if (end > SAMPLED_BYTES || ids > MOST_SAMPLED_IDS) return 0;
  if (stores > 0 && load32(NEXT_ID) > LAST_ID + 1 - FIRST_ID - ids) return 0;
  store32(<u64>SAMPLED + SampledHead.next, end);
  store32(<u64>SAMPLED + SampledHead.ids, ids);
  const record = <u64>SAMPLED + place;
  store32(record + Sampled.context, context);
  store32(record + Sampled.block, <u32>block);
  store32(record + Sampled.firstId, LAST_ID + 1 - ids);
  store32(record + Sampled.stores, stores | (loads << 16));
  store32(entry, place);
  return record;
}
