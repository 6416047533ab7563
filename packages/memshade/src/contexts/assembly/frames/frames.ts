// Calling contexts for one id per byte. A frame is what a function has in memory for one context: the records of its sites, so
// that one address stands for all of them, and a slot for each place that calls, with the frame of what was called last.
//
//   frame   tag of the function, node of the tree, bytes of header and records, unused; records; slots
//   slot    frame of the callee and its tag; frame of the caller, and the number of the place
//
// A caller leaves the address of the slot in a global, the callee looks whether the frame in it is one of its own.
import { childOf, find, FRAME, insert, isKnown, NOWHERE, valueAt } from "./tree";

// Address of the u32 that says where the next frame begins, 0 at first.
@external("layout", "FRAME_NEXT")
declare const FRAME_NEXT: u32;
@external("layout", "FRAMES")
declare const FRAMES: u32;
// Frames of contexts end here; behind is room for one more of each function: for contexts that find no room.
@external("layout", "FRAME_LIMIT")
declare const FRAME_LIMIT: u32;
// A u32 per tag: that frame.
@external("layout", "LAST_FRAMES")
declare const LAST_FRAMES: u32;

const F_TAG: usize = 0;
const F_NODE: usize = 4;
const F_BYTES: usize = 8;
const T_FRAME: usize = 0;
const T_TAG: usize = 4;
const T_PARENT: usize = 8;
const T_SITE: usize = 12;
const SLOT_SIZE: u32 = 16;
/** A place inside of a recursive component: the callee runs in the caller's context. */
const KEEPS: u32 = 0x80000000;

/**
 * The frame of the function `tag` called at `slot`. Its header and records take `bytes`; its slots have the numbers from
 * `firstSlot` on, the first `pushes` of them are not inside of a recursive component.
 */
export function enterFrame(slot: u32, tag: u32, bytes: u32, firstSlot: u32, pushes: u32, slots: u32): u32 {
  const node = nodeOfCall(slot);
  let frame: u32 = 0;
  if (node != NOWHERE) {
    const at = find(node, tag, FRAME);
    if (isKnown(at)) frame = valueAt(at);
    else if (at != 0 && nextFrame() + bytes + slots * SLOT_SIZE <= FRAME_LIMIT) {
      frame = newFrame(node, tag, bytes, firstSlot, pushes, slots);
      insert(at, node, tag, FRAME, frame);
    }
  }
  if (frame == 0) {
    const last: usize = LAST_FRAMES + (tag << 2);
    frame = load<u32>(last);
    if (frame == 0) {
      frame = newFrame(NOWHERE, tag, bytes, firstSlot, pushes, slots);
      store<u32>(last, frame);
    }
  }
  store<u32>(slot, frame, T_FRAME);
  store<u32>(slot, tag, T_TAG);
  return frame;
}

function nodeOfCall(slot: u32): u32 {
  const caller = load<u32>(slot, T_PARENT);
  if (caller == 0) return 0;
  const node = load<u32>(caller, F_NODE);
  const site = load<u32>(slot, T_SITE);
  return node == NOWHERE || (site & KEEPS) != 0 ? node : childOf(node, site);
}

@inline function nextFrame(): u32 {
  const next = load<u32>(FRAME_NEXT);
  return next == 0 ? FRAMES : next;
}

function newFrame(node: u32, tag: u32, bytes: u32, firstSlot: u32, pushes: u32, slots: u32): u32 {
  const frame = nextFrame();
  store<u32>(FRAME_NEXT, frame + bytes + slots * SLOT_SIZE);
  store<u32>(frame, tag, F_TAG);
  store<u32>(frame, node, F_NODE);
  store<u32>(frame, bytes, F_BYTES);
  let slot: usize = frame + bytes;
  for (let i: u32 = 0; i < slots; i++) {
    store<u32>(slot, frame, T_PARENT);
    // Counted from 1: the root is called from nowhere.
    store<u32>(slot, (firstSlot + i + 1) | (i < pushes ? 0 : KEEPS), T_SITE);
    slot += SLOT_SIZE;
  }
  return frame;
}
