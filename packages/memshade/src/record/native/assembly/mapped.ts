// Stores the kernel's list of a native process's mappings at its exit. The parent may read them too late.
import { MAPS_BYTES, Place, Text } from "./layout.generated";
import { memorySlot, load64, syscall1, syscall3, syscall4, text } from "./machine";
import { AT_FDCWD, CLOSE, O_RDONLY_CLOEXEC, OPENAT, READ } from "./system-calls";

export function keepMaps(): void {
  const file = syscall4(OPENAT, AT_FDCWD, text() + Text.maps, O_RDONLY_CLOEXEC, 0);
  if (file < 0) return;
  const at = load64(memorySlot()) + Place.maps;
  let done: u64 = 0;
  while (done < <u64>MAPS_BYTES) {
    const more = syscall3(READ, file, at + done, <u64>MAPS_BYTES - done);
    if (more <= 0) break;
    done += more;
  }
  syscall1(CLOSE, file);
}
