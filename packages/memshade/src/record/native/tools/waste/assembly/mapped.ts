// What a native process has mapped when it exits: what others see of it may be read later.
import { Text } from "../../../assembly/layout.generated";
import { syscall1, syscall3, syscall4, text } from "../../../assembly/machine";
import { AT_FDCWD, CLOSE, O_RDONLY_CLOEXEC, OPENAT, READ } from "../../../assembly/system-calls";
import { MAPS, MAPS_BYTES } from "./layout.generated";

/** Copies the kernel's list to where the reader looks for it. */
export function keepMaps(): void {
  const file = syscall4(OPENAT, AT_FDCWD, text() + Text.maps, O_RDONLY_CLOEXEC, 0);
  if (file < 0) return;
  let done: u64 = 0;
  while (done < <u64>MAPS_BYTES) {
    const more = syscall3(READ, file, <u64>MAPS + done, <u64>MAPS_BYTES - done);
    if (more <= 0) break;
    done += more;
  }
  syscall1(CLOSE, file);
}
