import { STACK_FRAME_BYTES, StackFrame } from "../../../contexts/assembly/layout.generated";
import { CONTROL } from "./imports";
import { CHILD_BYTES, Child, Control, Node } from "./layout.generated";

/** Offset in the table of the entry where a child belongs; those behind it are next. */
@inline
export function childPlace(parent: u32, site: u32): u32 {
  return (
    (((parent + site * 0x9e3779b1) * 0x85ebca6b) >>> load<u32>(CONTROL, Control.childShift)) * CHILD_BYTES
  );
}

/** Offset of the entry behind the one at `place`. */
@inline
export function nextPlace(place: u32): u32 {
  return (place + CHILD_BYTES) & ((<u32>-1 >>> load<u32>(CONTROL, Control.childShift)) * CHILD_BYTES);
}

/** The entry of a child, 0 when there is none. */
@inline
export function childEntry(parent: u32, site: u32): usize {
  const table = load<u32>(CONTROL, Control.childTable);
  const key = <u64>parent | ((<u64>site) << 32);
  let place = childPlace(parent, site);
  while (load<u64>(table + place) !== key) {
    if (load<u32>(table + place, Child.node) === 0) return 0;
    place = nextPlace(place);
  }
  return table + place;
}

/**
 * The entry in the block table for the call of the newest frame, 0 if it was not called from there before. Frames that
 * were decoded before carry their node as a memo, the root's always; the newest does not, it has been written for this
 * call.
 */
@inline
export function knownContext(frame: u32): usize {
  let node = load<u32>(frame - STACK_FRAME_BYTES, StackFrame.node);
  if (node === 0) {
    let known = frame - 2 * STACK_FRAME_BYTES;
    node = load<u32>(known, StackFrame.node);
    while (node === 0) {
      known -= STACK_FRAME_BYTES;
      node = load<u32>(known, StackFrame.node);
    }
    for (let at = known + STACK_FRAME_BYTES; at !== frame; at += STACK_FRAME_BYTES) {
      const entry = childEntry(node, load<u32>(at, StackFrame.site));
      if (entry === 0) return 0;
      node = load<u32>(entry, Child.node);
      store<u32>(at, node, StackFrame.node);
    }
  }
  const site = load<u32>(frame, StackFrame.site);
  if (load<u32>(node, Node.lastSite) === site) return load<u32>(node, Node.lastMib);
  if (load<u32>(node, Node.otherSite) === site) return load<u32>(node, Node.otherMib);
  const entry = childEntry(node, site);
  if (entry === 0) return 0;
  const mib: usize = load<u32>(entry, Child.mib);
  if (mib === 0) return 0;
  store<u64>(node, load<u64>(node, Node.lastSite), Node.otherSite);
  store<u32>(node, site, Node.lastSite);
  store<u32>(node, mib, Node.lastMib);
  return mib;
}
