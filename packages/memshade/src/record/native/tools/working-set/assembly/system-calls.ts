// Numbers and flags of Linux on x86-64, beside those of the recording.
export const WRITE: u64 = 1;
export const POLL: u64 = 7;
export const EXIT_GROUP: u64 = 231;
export const O_RDWR_CLOEXEC: u64 = 0x80002;
export const POLLIN: u32 = 1;
/** Futex operations on words shared between processes. */
export const FUTEX_WAIT_SHARED: u64 = 0;
export const FUTEX_WAKE_SHARED: u64 = 1;
export const EVERYBODY: u64 = 0x7fff_ffff;
export const SEEK_DATA: u64 = 3;
export const SEEK_HOLE: u64 = 4;
