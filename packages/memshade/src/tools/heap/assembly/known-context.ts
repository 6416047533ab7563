import {
  C_CHILD_SHIFT, C_CHILD_TABLE, CHILD_SIZE, CONTROL, F_NODE, F_SITE, FRAME_SIZE, H_MIB, H_NODE, N_LAST_MIB, N_LAST_SITE,
  N_OTHER_MIB, N_OTHER_SITE,
} from "./layout";

/** Offset in the table of the entry where a child belongs; those behind it are next. */
@inline
export function childPlace(parent: u32, site: u32): u32 {
  return (((parent + site * 0x9e3779b1) * 0x85ebca6b) >>> load<u32>(CONTROL, C_CHILD_SHIFT)) * CHILD_SIZE;
}

/** Offset of the entry behind the one at `place`. */
@inline
export function nextPlace(place: u32): u32 {
  return (place + CHILD_SIZE) & ((<u32>-1 >>> load<u32>(CONTROL, C_CHILD_SHIFT)) * CHILD_SIZE);
}

/** The entry of a child, 0 when there is none. */
@inline
export function childEntry(parent: u32, site: u32): usize {
  const table = load<u32>(CONTROL, C_CHILD_TABLE);
  const key = <u64>parent | (<u64>site << 32);
  let place = childPlace(parent, site);
  while (load<u64>(table + place) != key) {
    if (load<u32>(table + place, H_NODE) == 0) return 0;
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
  let node = load<u32>(frame - FRAME_SIZE, F_NODE);
  if (node == 0) {
    let known = frame - 2 * FRAME_SIZE;
    node = load<u32>(known, F_NODE);
    while (node == 0) {
      known -= FRAME_SIZE;
      node = load<u32>(known, F_NODE);
    }
    for (let at = known + FRAME_SIZE; at != frame; at += FRAME_SIZE) {
      const entry = childEntry(node, load<u32>(at, F_SITE));
      if (entry == 0) return 0;
      node = load<u32>(entry, H_NODE);
      store<u32>(at, node, F_NODE);
    }
  }
  const site = load<u32>(frame, F_SITE);
  if (load<u32>(node, N_LAST_SITE) == site) return load<u32>(node, N_LAST_MIB);
  if (load<u32>(node, N_OTHER_SITE) == site) return load<u32>(node, N_OTHER_MIB);
  const entry = childEntry(node, site);
  if (entry == 0) return 0;
  const mib: usize = load<u32>(entry, H_MIB);
  if (mib == 0) return 0;
  store<u64>(node, load<u64>(node, N_LAST_SITE), N_OTHER_SITE);
  store<u32>(node, site, N_LAST_SITE);
  store<u32>(node, mib, N_LAST_MIB);
  return mib;
}
