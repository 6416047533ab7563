// Calling contexts of what happens often. A frame is what a function has in memory for one context: the records of its sites, so
// that one address stands for all of them, and a slot for each place that calls, with the frame of what was called last. A caller
// leaves the address of the slot in a global, and the callee looks whether the frame in it is one of its own.
import { FRAME_LIMIT, FRAME_NEXT, FRAMES, LAST_FRAMES } from "./imports";
import { Frame, IndexKind, KEEPS_CONTEXT, NOWHERE, SLOT_BYTES, Slot } from "./layout.generated";
import { childOf, find, insert, isKnown, valueAt } from "./tree";

/**
 * The frame of the function `tag` called at `slot`. Its header and records take `bytes`; its slots have the numbers from
 * `firstSlot` on, the first `pushes` of them are not inside of a recursive component.
 */
export function enterFrame(slot: u32, tag: u32, bytes: u32, firstSlot: u32, pushes: u32, slots: u32): u32 {
  const node = nodeOfCall(slot);
  let frame: u32 = 0;
  if (node !== NOWHERE) {
    const at = find(node, tag, IndexKind.frame);
    if (isKnown(at)) frame = valueAt(at);
    else if (at !== 0 && nextFrame() + bytes + slots * SLOT_BYTES <= FRAME_LIMIT) {
      frame = newFrame(node, tag, bytes, firstSlot, pushes, slots);
      insert(at, node, tag, IndexKind.frame, frame);
    }
  }
  if (frame === 0) {
    const last: usize = LAST_FRAMES + (tag << 2);
    frame = load<u32>(last);
    if (frame === 0) {
      frame = newFrame(NOWHERE, tag, bytes, firstSlot, pushes, slots);
      store<u32>(last, frame);
    }
  }
  store<u32>(slot, frame, Slot.frame);
  store<u32>(slot, tag, Slot.tag);
  return frame;
}

function nodeOfCall(slot: u32): u32 {
  const caller = load<u32>(slot, Slot.caller);
  if (caller === 0) return 0;
  const node = load<u32>(caller, Frame.node);
  const place = load<u32>(slot, Slot.place);
  return node === NOWHERE || (place & KEEPS_CONTEXT) !== 0 ? node : childOf(node, place);
}

@inline
function nextFrame(): u32 {
  const next = load<u32>(FRAME_NEXT);
  return next === 0 ? FRAMES : next;
}

function newFrame(node: u32, tag: u32, bytes: u32, firstSlot: u32, pushes: u32, slots: u32): u32 {
  const frame = nextFrame();
  store<u32>(FRAME_NEXT, frame + bytes + slots * SLOT_BYTES);
  store<u32>(frame, tag, Frame.tag);
  store<u32>(frame, node, Frame.node);
  store<u32>(frame, bytes, Frame.bytes);
  let slot: usize = frame + bytes;
  for (let i: u32 = 0; i < slots; i++) {
    store<u32>(slot, frame, Slot.caller);
    // Counted from 1: the root is called from nowhere.
    store<u32>(slot, (firstSlot + i + 1) | (i < pushes ? 0 : KEEPS_CONTEXT), Slot.place);
    slot += SLOT_BYTES;
  }
  return frame;
}
