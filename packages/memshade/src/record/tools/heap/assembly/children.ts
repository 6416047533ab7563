import { CONTROL } from "./imports";
import { CHILD_BYTES, Child, Control } from "./layout.generated";

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
