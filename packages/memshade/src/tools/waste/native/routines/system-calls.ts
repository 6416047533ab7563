/** How many bytes a system call reaches by one of its arguments. */
type Reach =
  | { bytes: number }
  /** another argument says so, in units of so many bytes */
  | { argument: number; unit: number }
  /** an array of `struct iovec`, as many as another argument says */
  | { vectors: number };

/** A pointer among the arguments (0 to 5), and what it leads to. */
export type Reached = { pointer: number } & Reach;

/** A path reaches no further. */
const PATH_BYTES = 4096;

const at = (pointer: number, bytes: number): Reached => ({ pointer, bytes });
const of = (pointer: number, argument: number, unit = 1): Reached => ({ pointer, argument, unit });
const path = (pointer: number): Reached => at(pointer, PATH_BYTES);

/**
 * Memory that system calls of Linux on x86-64 read or write, by their numbers; those that reach none have an empty list. What they write is
 * told before they do: all that they may write.
 */
export const SYSTEM_CALLS: ReadonlyMap<number, readonly Reached[]> = new Map<number, readonly Reached[]>([
  // read, write, open, close, stat, fstat, lstat, poll, lseek
  ...[0, 1].map((number) => [number, [of(1, 2)]] as const),
  [2, [path(0)]],
  [3, []],
  ...[4, 6].map((number) => [number, [path(0), at(1, 144)]] as const),
  [5, [at(1, 144)]],
  [7, [of(0, 1, 8)]],
  [8, []],
  // mmap, mprotect, munmap, brk, rt_sigaction, rt_sigprocmask, rt_sigreturn
  ...[9, 10, 11, 12, 15].map((number) => [number, []] as const),
  ...[13, 14].map((number) => [number, [at(1, 32), at(2, 32)]] as const),
  // pread64, pwrite64, readv, writev, access, pipe, select
  ...[17, 18].map((number) => [number, [of(1, 2)]] as const),
  ...[19, 20].map((number) => [number, [{ pointer: 1, vectors: 2 }]] as const),
  [21, [path(0)]],
  [22, [at(0, 8)]],
  // sched_yield, mremap, madvise, dup, dup2, pause, nanosleep, getpid
  ...[24, 25, 28, 32, 33, 34, 39].map((number) => [number, []] as const),
  [35, [at(0, 16), at(1, 16)]],
  // socket, connect, sendto, recvfrom
  [41, []],
  [42, [of(1, 2)]],
  ...[44, 45].map((number) => [number, [of(1, 2)]] as const),
  // clone, fork, vfork, exit, wait4, kill, uname, fcntl, fsync, ftruncate
  ...[56, 57, 58, 60, 62, 72, 74, 75, 77].map((number) => [number, []] as const),
  [61, [at(1, 4), at(3, 144)]],
  [63, [at(0, 390)]],
  // getcwd, chdir, rename, mkdir, rmdir, unlink, readlink
  [79, [of(0, 1)]],
  ...[80, 83, 84, 87].map((number) => [number, [path(0)]] as const),
  [82, [path(0), path(1)]],
  [89, [path(0), of(1, 2)]],
  // gettimeofday, getrlimit, getrusage, ids
  [96, [at(0, 16)]],
  [97, [at(1, 16)]],
  [98, [at(1, 144)]],
  ...[102, 104, 107, 108, 110, 111, 186].map((number) => [number, []] as const),
  // sigaltstack, arch_prctl, futex, sched_getaffinity, getdents64, clock_gettime, clock_nanosleep, exit_group
  [131, [at(0, 24), at(1, 24)]],
  [158, []],
  [202, [at(0, 4)]],
  [204, [of(2, 1)]],
  [217, [of(1, 2)]],
  [228, [at(1, 16)]],
  [230, [at(2, 16), at(3, 16)]],
  [231, []],
  // set_tid_address, epoll_wait, epoll_ctl, tgkill, openat, newfstatat, readlinkat, faccessat
  ...[218, 234].map((number) => [number, []] as const),
  [232, [of(1, 2, 12)]],
  [233, [at(3, 12)]],
  [257, [path(1)]],
  [262, [path(1), at(2, 144)]],
  [267, [path(1), of(2, 3)]],
  [269, [path(1)]],
  // set_robust_list, pipe2, dup3, prlimit64, getrandom, statx, rseq, clone3, faccessat2
  ...[273, 292, 334].map((number) => [number, []] as const),
  [293, [at(0, 8)]],
  [302, [at(2, 16), at(3, 16)]],
  [318, [of(0, 1)]],
  [332, [path(1), at(4, 256)]],
  [435, [of(0, 1)]],
  [439, [path(1)]],
]);
