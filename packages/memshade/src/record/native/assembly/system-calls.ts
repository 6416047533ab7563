// Numbers and flags of Linux on x86-64.
export const READ: u64 = 0;
export const FSTAT: u64 = 5;
export const LSEEK: u64 = 8;
export const MMAP: u64 = 9;
export const MUNMAP: u64 = 11;
export const RT_SIGPROCMASK: u64 = 14;
export const PREAD64: u64 = 17;
export const MINCORE: u64 = 27;
export const MADVISE: u64 = 28;
export const NANOSLEEP: u64 = 35;
export const GETPID: u64 = 39;
export const CLONE: u64 = 56;
export const CLOSE_RANGE: u64 = 436;
/** Gives the copy the same parent as the copied process. */
export const CLONE_PARENT: u64 = 0x8000;
export const KILL: u64 = 62;
export const EXIT_GROUP: u64 = 231;
export const FTRUNCATE: u64 = 77;
export const GETCWD: u64 = 79;
export const READLINK: u64 = 89;
export const GETRLIMIT: u64 = 97;
export const PRCTL: u64 = 157;
export const GETTID: u64 = 186;
export const FUTEX: u64 = 202;
export const CLOCK_GETTIME: u64 = 228;
export const TGKILL: u64 = 234;
export const OPENAT: u64 = 257;
export const FACCESSAT: u64 = 269;
export const CLOSE: u64 = 3;

export const EFAULT: i64 = 14;
export const ESRCH: i64 = 3;
export const EEXIST: i64 = 17;
export const EFBIG: i64 = 27;
export const RLIMIT_FSIZE: u64 = 1;
export const CLOCK_MONOTONIC: u64 = 1;
export const AT_FDCWD: u64 = <u64>-100;
export const O_RDONLY_CLOEXEC: u64 = 0x80000;
/** O_RDWR, O_CREAT, O_EXCL, O_CLOEXEC */
export const O_CREATE: u64 = 0x800c2;
export const OWNER_ONLY: u64 = 0x180;
export const SEEK_END: u64 = 2;
export const PROT_NONE: u64 = 0;
export const PROT_READ: u64 = 1;
export const PROT_READ_WRITE: u64 = 3;
export const MAP_SHARED: u64 = 1;
export const MAP_PRIVATE: u64 = 2;
export const MAP_FIXED: u64 = 0x10;
/** MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE */
export const MAP_RESERVED: u64 = 0x4022;
export const MADV_REMOVE: u64 = 9;
export const MADV_DONTDUMP: u64 = 16;
export const MADV_WIPEONFORK: u64 = 18;
export const PR_GET_NAME: u64 = 16;
/** Private futex: no other process waits on the word. */
export const FUTEX_WAIT: u64 = 128;
export const FUTEX_WAKE: u64 = 129;
