import { COPY_BYTES, Control, Copy, CopyFlag } from "../layout.ts";
import type { WasteToolLayout, WasteWords } from "./read-waste.ts";

const UNREAD = 1;

/**
 * Bytes per store key that nothing but copies has read, all of which are unread now or gone. `exitVisible`: the host
 * reads what is unread now.
 */
export function transitivelyDead(
  view: DataView,
  layout: WasteToolLayout,
  { writers, origins }: WasteWords,
  exitVisible: boolean,
): Map<number, number> {
  const count = view.getUint32(layout.control + Control.copyNext, true);
  const used = new Set<number>();
  const at = (copy: number): number => layout.copies + copy * COPY_BYTES;
  if (exitVisible) {
    for (let address = 0; address < origins.length; address++) {
      let copy = origins[address];
      if (copy === 0 || writers[address] >>> 30 !== UNREAD) continue;
      for (; copy !== 0 && !used.has(copy); copy = view.getUint32(at(copy) + Copy.parent, true))
        used.add(copy);
    }
  }
  const dead = new Map<number, number>();
  for (let copy = 1; copy <= count; copy++) {
    const flags = view.getUint32(at(copy) + Copy.flags, true);
    // What is left of an ended byte stays for the copies below it; free records have no flags.
    if ((flags & (CopyFlag.used | CopyFlag.copied)) !== CopyFlag.copied || used.has(copy)) continue;
    const key = view.getUint32(at(copy), true);
    dead.set(key, (dead.get(key) ?? 0) + 1);
  }
  return dead;
}
