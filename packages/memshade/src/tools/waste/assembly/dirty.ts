// Lines of 256 bytes that were written since an opaque host was last in control: a byte for each line, and a list of those
// that are set. What the host may have read costs as much as was written since, however large the memory is.
import { C_DIRTY_LINES, C_HOST_END, CONTROL, COVERED, ZERO_IS_VALID } from "./layout";
import { programPages } from "./program";

// 0: the host is not opaque, and nobody keeps them.
@external("layout", "DIRTY")
declare const DIRTY: u32;
@external("layout", "DIRTY_LIST")
declare const DIRTY_LIST: u32;

export const LINE_SHIFT: u32 = 8;
export const NO_LINE: u32 = 0xffffffff;

/** A line that was clean is written: `address` is in it. Inline stores have looked. */
export function soiled(address: u32): void {
  const line = address >>> LINE_SHIFT;
  store<u8>(DIRTY + line, 1);
  const count = load<u32>(CONTROL, C_DIRTY_LINES);
  store<u32>(DIRTY_LIST + (count << 2), line);
  store<u32>(CONTROL, count + 1, C_DIRTY_LINES);
}

@inline export function markDirty(address: u32, size: u32): void {
  if (DIRTY == 0 || size == 0) return;
  const last = (address + size - 1) >>> LINE_SHIFT;
  for (let line = address >>> LINE_SHIFT; line <= last; line++)
    if (load<u8>(DIRTY + line) == 0) soiled(line << LINE_SHIFT);
}

/** An opaque host is in control: zeros of the system that are there now have been read as all else, and nobody has a list of them. */
export function showZeros(): void {
  store<u32>(CONTROL, min<u32>(programPages(), COVERED >>> 16) << 16, C_HOST_END);
}

/** Whether zeros may have been read that nobody has loaded. */
@inline export function showsZeros(): bool { return DIRTY != 0 && ZERO_IS_VALID != 0; }

/** The end of memory whose zeros have been read. */
@inline export function shownEnd(): u32 { return load<u32>(CONTROL, C_HOST_END); }

/** A line that is dirty, and is not any more; `NO_LINE` if there is none. */
export function takeDirty(): u32 {
  const count = load<u32>(CONTROL, C_DIRTY_LINES);
  if (count == 0) return NO_LINE;
  store<u32>(CONTROL, count - 1, C_DIRTY_LINES);
  const line = load<u32>(DIRTY_LIST + ((count - 1) << 2));
  store<u8>(DIRTY + line, 0);
  return line;
}
