// Imports that the compiler to machine code turns into instructions, and functions of the C library.

@external("native", "load8")
export declare function load8(address: u64): u32;
@external("native", "load32")
export declare function load32(address: u64): u32;
@external("native", "load64")
export declare function load64(address: u64): u64;
@external("native", "store8")
export declare function store8(address: u64, value: u32): void;
@external("native", "store32")
export declare function store32(address: u64, value: u32): void;
@external("native", "store64")
export declare function store64(address: u64, value: u64): void;

@external("native", "load128")
export declare function load128(address: u64): v128;
@external("native", "store128")
export declare function store128(address: u64, value: v128): void;

// The number of a call must be a constant. Results from -4095 to -1 are errors; errno is not changed.
@external("native", "syscall1")
export declare function syscall1(number: u64, a: u64): i64;
@external("native", "syscall2")
export declare function syscall2(number: u64, a: u64, b: u64): i64;
@external("native", "syscall3")
export declare function syscall3(number: u64, a: u64, b: u64, c: u64): i64;
@external("native", "syscall4")
export declare function syscall4(number: u64, a: u64, b: u64, c: u64, d: u64): i64;
@external("native", "syscall6")
export declare function syscall6(number: u64, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64): i64;

/** Leaves the current function for the one at an address, which returns to the current function's caller. */
@external("native", "jump")
export declare function jump(to: u64, argument: u64): void;

// Read and write a word of the image's thread-local storage. The offset must be a constant.
@external("native", "tlsLoad")
export declare function tlsLoad(at: u32): u64;
@external("native", "tlsStore")
export declare function tlsStore(at: u32, value: u64): void;

// Values at the entry of the current exported function: the word at the stack pointer, the stack pointer,
// rbp.
@external("native", "returnAddress")
export declare function returnAddress(): u64;
@external("native", "stackPointer")
export declare function stackPointer(): u64;
@external("native", "framePointer")
export declare function framePointer(): u64;

/** Address of the image's paths and words: `Text`. */
@external("native", "text")
export declare function text(): u64;
/** Address of a page without content between calls. */
@external("native", "scratch")
export declare function scratch(): u64;
/**
 * Address of the word with linear memory's address. The word is 0 until the memory is mapped, and again in a
 * forked child.
 */
@external("native", "memorySlot")
export declare function memorySlot(): u64;

@external("native", "malloc")
export declare function libcMalloc(size: u64): u64;
@external("native", "calloc")
export declare function libcCalloc(count: u64, size: u64): u64;
@external("native", "realloc")
export declare function libcRealloc(old: u64, size: u64): u64;
@external("native", "reallocarray")
export declare function libcReallocarray(old: u64, count: u64, size: u64): u64;
@external("native", "memalign")
export declare function libcMemalign(alignment: u64, size: u64): u64;
@external("native", "aligned_alloc")
export declare function libcAlignedAlloc(alignment: u64, size: u64): u64;
@external("native", "posix_memalign")
export declare function libcPosixMemalign(result: u64, alignment: u64, size: u64): u32;
@external("native", "valloc")
export declare function libcValloc(size: u64): u64;
@external("native", "pvalloc")
export declare function libcPvalloc(size: u64): u64;
@external("native", "free")
export declare function libcFree(block: u64): void;
@external("native", "malloc_usable_size")
export declare function libcUsableSize(block: u64): u64;
/** The C library returns the structure in memory; that address is the first argument. */
@external("native", "mallinfo2")
export declare function libcMallinfo2(result: u64): u64;
@external("native", "clock_gettime")
export declare function libcClockGettime(clock: u32, result: u64): u32;
@external("native", "mmap")
export declare function libcMmap(
  address: u64,
  length: u64,
  protection: u64,
  flags: u64,
  file: u64,
  offset: u64,
): u64;
@external("native", "munmap")
export declare function libcMunmap(address: u64, length: u64): u32;
@external("native", "mremap")
export declare function libcMremap(old: u64, oldLength: u64, length: u64, flags: u64, address: u64): u64;
@external("native", "mlockall")
export declare function libcMlockall(flags: u32): u32;
@external("native", "operatorNew")
export declare function nextNew(size: u64): u64;
@external("native", "operatorNewNothrow")
export declare function nextNewNothrow(size: u64, tag: u64): u64;
@external("native", "operatorNewAligned")
export declare function nextNewAligned(size: u64, alignment: u64): u64;
@external("native", "operatorNewAlignedNothrow")
export declare function nextNewAlignedNothrow(size: u64, alignment: u64, tag: u64): u64;
@external("native", "mallocx")
export declare function nextMallocx(size: u64, flags: u32): u64;
@external("native", "rallocx")
export declare function nextRallocx(old: u64, size: u64, flags: u32): u64;
@external("native", "dallocx")
export declare function nextDallocx(block: u64, flags: u32): void;
@external("native", "sdallocx")
export declare function nextSdallocx(block: u64, size: u64, flags: u32): void;
@external("native", "__cxa_atexit")
export declare function libcAtExit(callback: u64, argument: u64, object: u64): u32;
@external("native", "__cxa_at_quick_exit")
export declare function libcAtQuickExit(callback: u64, object: u64): u32;
@external("native", "_exit")
export declare function libcExitNow(status: u64): void;
@external("native", "execve")
export declare function libcExecve(path: u64, values: u64, environment: u64): u32;
@external("native", "execvpe")
export declare function libcExecvpe(name: u64, values: u64, environment: u64): u32;
@external("native", "fexecve")
export declare function libcFexecve(file: u64, values: u64, environment: u64): u32;
@external("native", "fork")
export declare function libcFork(): u32;
@external("native", "dlclose")
export declare function libcDlclose(handle: u64): u32;
@external("native", "pthread_create")
export declare function libcPthreadCreate(result: u64, attributes: u64, start: u64, argument: u64): u32;
@external("native", "thrd_create")
export declare function libcThrdCreate(result: u64, start: u64, argument: u64): u32;
@external("native", "sigaction")
export declare function libcSigaction(signal: u32, action: u64, old: u64): u32;
@external("native", "signal")
export declare function libcSignal(signal: u32, handler: u64): u64;
@external("native", "pthread_sigmask")
export declare function libcPthreadSigmask(how: u32, set: u64, old: u64): u32;
@external("native", "sigprocmask")
export declare function libcSigprocmask(how: u32, set: u64, old: u64): u32;
/**
 * Finds the object that contains an address, without a lock. Returns 0 if there is one, and fills in
 * `result`.
 */
@external("native", "_dl_find_object")
export declare function dlFindObject(address: u64, result: u64): u32;
/** Returns a value of the auxiliary vector; 0 if it has none of this type. */
@external("native", "getauxval")
export declare function getauxval(type: u64): u64;
/** Returns the definition of a name. With the handle -1: the next definition behind the calling object. */
@external("native", "dlsym")
export declare function dlsym(handle: u64, name: u64): u64;
