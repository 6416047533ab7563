// The functions that hooks call are those that the program would have had without the image: the next ones of their names. They are looked
// for once. A child that was forked must not look again: another thread of its parent may have held the dynamic linker's lock.
import { NEXT_NAME_BYTES, Text } from "./layout.generated";
import { dlsym, load32, load8, store32, store64, text } from "./machine";

const RTLD_NEXT: u64 = <u64>-1;

export function bindNext(): void {
  if (load32(text() + Text.isBound) !== 0) return;
  store32(text() + Text.isBound, 1);
  let name = text() + Text.names;
  let word = text() + Text.next;
  for (; load8(name) !== 0; name += NEXT_NAME_BYTES, word += 8) {
    const next = dlsym(RTLD_NEXT, name);
    if (next !== 0) store64(word, next);
  }
}
