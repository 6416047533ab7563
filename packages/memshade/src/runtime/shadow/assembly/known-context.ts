import {
  CHILD_MASK, CHILD_SIZE, CHILDREN, F_NODE, F_SITE, FRAME_SIZE, H_MIB, H_NODE, H_PARENT, H_SITE, N_LAST_MIB, N_LAST_SITE,
} from "./layout";

/** Where a child belongs; the entries behind it are next. */
@inline
export function childSlot(parent: u32, site: u32): u32 { return (parent * 0x9e3779b1 + site) & CHILD_MASK; }

@inline
export function childAt(slot: u32): usize { return CHILDREN + slot * CHILD_SIZE; }

/**
 * The entry in the block table for the call of the newest frame, 0 if it takes more than looking at the first place for
 * each frame. Frames that were decoded before carry their node as a memo, the root's always; the newest does not, it has
 * been written for this call.
 */
@inline
export function knownContext(frame: u32): usize {
  let node = load<u32>(frame - FRAME_SIZE, F_NODE);
  if (node == 0) {
    let known = frame - 2 * FRAME_SIZE;
    node = load<u32>(known, F_NODE);
    while (node == 0) {
      known -= FRAME_SIZE;
      node = load<u32>(known, F_NODE);
    }
    for (let at = known + FRAME_SIZE; at != frame; at += FRAME_SIZE) {
      const site = load<u32>(at, F_SITE);
      const entry = childAt(childSlot(node, site));
      // Of an empty entry the site is 0, which is none.
      if (load<u32>(entry, H_PARENT) != node) return 0;
      if (load<u32>(entry, H_SITE) != site) return 0;
      node = load<u32>(entry, H_NODE);
      store<u32>(at, node, F_NODE);
    }
  }
  const site = load<u32>(frame, F_SITE);
  if (load<u32>(node, N_LAST_SITE) == site) return load<u32>(node, N_LAST_MIB);
  const entry = childAt(childSlot(node, site));
  if (load<u32>(entry, H_PARENT) != node) return 0;
  if (load<u32>(entry, H_SITE) != site) return 0;
  const mib: usize = load<u32>(entry, H_MIB);
  store<u32>(node, site, N_LAST_SITE);
  store<u32>(node, mib, N_LAST_MIB);
  return mib;
}
