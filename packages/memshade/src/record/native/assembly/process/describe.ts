// Records which program a process runs, as the kernel describes it: the parent may read that too late. There
// is no linear memory yet.
import { Header, MOST_PROGRAM_BYTES, Text } from "../layout.generated";
import { store32, syscall1, syscall3, syscall4, text } from "../machine";
import { AT_FDCWD, CLOSE, O_RDONLY_CLOEXEC, OPENAT, READ, READLINK } from "../system-calls";

/** Writes the description to the header. `base`: process address of the memory. */
export function describeProcess(base: u64): void {
  const program = syscall3(READLINK, text() + Text.program, base + Header.program, MOST_PROGRAM_BYTES);
  if (program > 0) store32(base + Header.programBytes, <u32>program);
  const file = syscall4(OPENAT, AT_FDCWD, text() + Text.command, O_RDONLY_CLOEXEC, 0);
  if (file < 0) return;
  const command = syscall3(READ, file, base + Header.command, MOST_PROGRAM_BYTES);
  if (command > 0) store32(base + Header.commandBytes, <u32>command);
  syscall1(CLOSE, file);
}
