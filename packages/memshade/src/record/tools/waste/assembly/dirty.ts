// Lines of 256 bytes that were written since an opaque host was last in control: a byte for each line, and a list of those
// that are set. What the host may have read costs as much as was written since, however large the memory is.
import { CONTROL, COVERED, DIRTY, DIRTY_LIST, ZERO_IS_VALID, programPages } from "./imports";
import { Control, DIRTY_LINE_SHIFT } from "./layout.generated";

export const NO_LINE: u32 = 0xffffffff;

/** A line that was clean is written: `address` is in it. Inline stores have looked. */
export function markLineDirty(address: u32): void {
  const line = address >>> DIRTY_LINE_SHIFT;
  store<u8>(DIRTY + line, 1);
  const count = load<u32>(CONTROL, Control.dirtyLines);
  store<u32>(DIRTY_LIST + (count << 2), line);
  store<u32>(CONTROL, count + 1, Control.dirtyLines);
}

@inline
export function markDirty(address: u32, size: u32): void {
  if (DIRTY === 0 || size === 0) return;
  const last = (address + size - 1) >>> DIRTY_LINE_SHIFT;
  for (let line = address >>> DIRTY_LINE_SHIFT; line <= last; line++)
    if (load<u8>(DIRTY + line) === 0) markLineDirty(line << DIRTY_LINE_SHIFT);
}

/** An opaque host is in control: it may have read the zeros of the system too. There is no list of these: all up to here count as read. */
export function showZeros(): void {
  store<u32>(CONTROL, min<u32>(programPages(), COVERED >>> 16) << 16, Control.hostEnd);
}

/** Whether zeros may have been read that nobody has loaded. */
@inline
export function showsZeros(): bool {
  return DIRTY !== 0 && ZERO_IS_VALID !== 0;
}

/** The end of memory whose zeros have been read. */
@inline
export function shownEnd(): u32 {
  return load<u32>(CONTROL, Control.hostEnd);
}

/** A line that is dirty, and is not any more; `NO_LINE` if there is none. */
export function takeDirty(): u32 {
  const count = load<u32>(CONTROL, Control.dirtyLines);
  if (count === 0) return NO_LINE;
  store<u32>(CONTROL, count - 1, Control.dirtyLines);
  const line = load<u32>(DIRTY_LIST + ((count - 1) << 2));
  store<u8>(DIRTY + line, 0);
  return line;
}
