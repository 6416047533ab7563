// Looks up the functions that hooks call: the next definitions of their names behind the image. This is done
// once. A forked child must not repeat it, because another thread of its parent may have held the dynamic
// linker's lock.
import { NEXT_NAME_BYTES, NEXT_NAMES, NextWord, Text } from "./layout.generated";
import { dlsym, load32, load64, load8, store32, store64, text } from "./machine";

const RTLD_NEXT: u64 = <u64>-1;

export function bindNext(): void {
  if (load32(text() + Text.isBound) !== 0) return;
  store32(text() + Text.isBound, 1);
  for (let i: u32 = 0; i < NEXT_NAMES; i++) {
    const name = text() + Text.names + i * NEXT_NAME_BYTES;
    if (load8(name) === 0) continue;
    const next = dlsym(RTLD_NEXT, name);
    if (next !== 0) store64(text() + Text.next + 8 * i, next);
  }
}

export function canFindObjects(): bool {
  return load64(text() + Text.next + 8 * NextWord.findObject) !== 0;
}
