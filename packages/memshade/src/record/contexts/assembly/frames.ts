// Frames for the calling contexts of frequent events. A frame is a function's memory for one context: the records of
// its sites, then a slot per call. The slot holds the frame of the function that it called last. A caller leaves the
// address of the slot in a global. The callee checks whether the slot holds one of its own frames.
import { FRAME_LIMIT, FRAME_NEXT, FRAMES, LAST_FRAMES } from "./imports";
import { Frame, IndexKind, KEEPS_CONTEXT, NOWHERE, SLOT_BYTES, Slot } from "./layout.generated";
import { childOf, find, insert, isKnown, valueAt } from "./tree";

/**
 * Returns the frame of the function `tag` called at `slot`. Header and records take `bytes`. Its slots are numbered
 * from `firstSlot` on; the first `pushes` of them are outside of recursive components.
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
    // Numbers start at 1; the root has no call site.
    store<u32>(slot, (firstSlot + i + 1) | (i < pushes ? 0 : KEEPS_CONTEXT), Slot.place);
    slot += SLOT_BYTES;
  }
  return frame;
}
