import { syscall4 } from "./machine";
import { EFAULT, RT_SIGPROCMASK } from "./system-calls";

/** No way to change a signal mask: the kernel reads the mask before it refuses. */
const NO_WAY: u64 = 0x7fff_ffff;

/** Whether the word at an address can be read. Changes nothing; takes about as long as a dozen frames. */
export function isMapped(address: u64): bool {
  return syscall4(RT_SIGPROCMASK, NO_WAY, address, 0, 8) !== -EFAULT;
}
