// One run of a block in a while is sampled: what it stores has ids of the context it runs in until the block runs again. So what becomes of
// these bytes is known of the context, and what is silent meanwhile is counted for it. A context is the whole path of calls, or the caller
// that is nearest of those outside of the block's object. `sample-routine.ts` calls.
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
/** Those of a hash that are looked at. */
const MOST_TRIES: u32 = 64;
/** Gaps grow with the runs of a block, up to the usual ones: what runs seldom is sampled more often. */
const GAPS_PER_RUN: u64 = 4;

/** Frames of an object that are looked at for the caller outside of it. */
const MOST_INSIDE: u32 = 64;

let random: u64 = 0;

/**
 * `counts`: stores, and above 16 bits loads. The block is at `address`, with these values of stack pointer and frame pointer. `isByPath`: its
 * context is the whole path of calls.
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

/** The site of the nearest caller outside of the object that an instruction is of; 0: it is not known. */
function outsideCaller(thread: u32, place: u64, address: u64, framePointer: u64): u32 {
  let frame: usize = thread + WALKED;
  let next: usize = frame + STACK_FRAME_BYTES;
  store<u64>(frame, place, StackFrame.place);
  store<u64>(frame, address, StackFrame.address);
  store<u64>(frame, framePointer, StackFrame.framePointer);
  store<u32>(frame, Link.unchecked | Link.interrupted, StackFrame.link);
  for (let tries: u32 = 0; tries < MOST_INSIDE; tries++) {
    const result = step(frame, next, thread + Thread.room);
    // Its own object is known by now: its rule was asked for.
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

/** The node of the path that was walked; 0: the table is full. */
function pathOf(thread: u32): u32 {
  if (load<u32>(CONTROL, Control.childTable) === 0) prepareContexts();
  return settledNode(thread);
}

/** The count is through again after so many runs. The routine has said: after the period. */
function goOn(block: u64, gap: u64): void {
  store64(block, gap);
  store64(block + SampledBlock.runs, load64(block + SampledBlock.runs) + gap - SAMPLE_PERIOD);
}

/** @param context 0: it is not known */
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
  goOn(block, 0);
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
  goOn(block, gap);
}

/** What is counted from here on is the context's, or was up to here. */
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

/** 0: there is no room for one more. */
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
