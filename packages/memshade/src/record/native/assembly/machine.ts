// Imports that the compiler to machine code turns into instructions, and functions of the C library.

declare module "native";
export declare function load8(address: u64): u32;
export declare function load32(address: u64): u32;
export declare function load64(address: u64): u64;
export declare function store8(address: u64, value: u32): void;
export declare function store32(address: u64, value: u32): void;
export declare function store64(address: u64, value: u64): void;

export declare function load128(address: u64): v128;
export declare function store128(address: u64, value: v128): void;

// The number of a call must be a constant. Results from -4095 to -1 are errors; errno is not changed.
export declare function syscall1(number: u64, a: u64): i64;
export declare function syscall2(number: u64, a: u64, b: u64): i64;
export declare function syscall3(number: u64, a: u64, b: u64, c: u64): i64;
export declare function syscall4(number: u64, a: u64, b: u64, c: u64, d: u64): i64;
export declare function syscall6(number: u64, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64): i64;

/** Leaves the current function for the one at an address, which returns to the current function's caller. */
export declare function jump(to: u64, argument: u64): void;

// Read and write a word of the image's thread-local storage. The offset must be a constant.
export declare function tlsLoad(at: u32): u64;
export declare function tlsStore(at: u32, value: u64): void;

// Values at the entry of the current exported function: the word at the stack pointer, the stack pointer,
// rbp.
export declare function returnAddress(): u64;
export declare function stackPointer(): u64;
export declare function framePointer(): u64;

/** Address of the image's paths and words: `Text`. */
export declare function text(): u64;
/** Address of a page without content between calls. */
export declare function scratch(): u64;
/**
 * Address of the word with linear memory's address. The word is 0 until the memory is mapped, and again in a
 * forked child.
 */
export declare function memorySlot(): u64;

@external("malloc")
export declare function libcMalloc(size: u64): u64;
@external("calloc")
export declare function libcCalloc(count: u64, size: u64): u64;
@external("realloc")
export declare function libcRealloc(old: u64, size: u64): u64;
@external("reallocarray")
export declare function libcReallocarray(old: u64, count: u64, size: u64): u64;
@external("memalign")
export declare function libcMemalign(alignment: u64, size: u64): u64;
@external("aligned_alloc")
export declare function libcAlignedAlloc(alignment: u64, size: u64): u64;
@external("posix_memalign")
export declare function libcPosixMemalign(result: u64, alignment: u64, size: u64): u32;
@external("valloc")
export declare function libcValloc(size: u64): u64;
@external("pvalloc")
export declare function libcPvalloc(size: u64): u64;
@external("free")
export declare function libcFree(block: u64): void;
@external("malloc_usable_size")
export declare function libcUsableSize(block: u64): u64;
/** The C library returns the structure in memory; that address is the first argument. */
@external("mallinfo2")
export declare function libcMallinfo2(result: u64): u64;
@external("clock_gettime")
export declare function libcClockGettime(clock: u32, result: u64): u32;
@external("mmap")
export declare function libcMmap(
  address: u64,
  length: u64,
  protection: u64,
  flags: u64,
  file: u64,
  offset: u64,
): u64;
@external("munmap")
export declare function libcMunmap(address: u64, length: u64): u32;
@external("mremap")
export declare function libcMremap(old: u64, oldLength: u64, length: u64, flags: u64, address: u64): u64;
@external("mlockall")
export declare function libcMlockall(flags: u32): u32;
@external("operatorNew")
export declare function nextNew(size: u64): u64;
@external("operatorNewNothrow")
export declare function nextNewNothrow(size: u64, tag: u64): u64;
@external("operatorNewAligned")
export declare function nextNewAligned(size: u64, alignment: u64): u64;
@external("operatorNewAlignedNothrow")
export declare function nextNewAlignedNothrow(size: u64, alignment: u64, tag: u64): u64;
@external("mallocx")
export declare function nextMallocx(size: u64, flags: u32): u64;
@external("rallocx")
export declare function nextRallocx(old: u64, size: u64, flags: u32): u64;
@external("dallocx")
export declare function nextDallocx(block: u64, flags: u32): void;
@external("sdallocx")
export declare function nextSdallocx(block: u64, size: u64, flags: u32): void;
@external("__cxa_atexit")
export declare function libcAtExit(callback: u64, argument: u64, object: u64): u32;
@external("__cxa_at_quick_exit")
export declare function libcAtQuickExit(callback: u64, object: u64): u32;
@external("_exit")
export declare function libcExitNow(status: u64): void;
@external("execve")
export declare function libcExecve(path: u64, values: u64, environment: u64): u32;
@external("execvpe")
export declare function libcExecvpe(name: u64, values: u64, environment: u64): u32;
@external("fexecve")
export declare function libcFexecve(file: u64, values: u64, environment: u64): u32;
@external("fork")
export declare function libcFork(): u32;
@external("dlclose")
export declare function libcDlclose(handle: u64): u32;
@external("pthread_create")
export declare function libcPthreadCreate(result: u64, attributes: u64, start: u64, argument: u64): u32;
@external("thrd_create")
export declare function libcThrdCreate(result: u64, start: u64, argument: u64): u32;
@external("sigaction")
export declare function libcSigaction(signal: u32, action: u64, old: u64): u32;
@external("signal")
export declare function libcSignal(signal: u32, handler: u64): u64;
@external("pthread_sigmask")
export declare function libcPthreadSigmask(how: u32, set: u64, old: u64): u32;
@external("sigprocmask")
export declare function libcSigprocmask(how: u32, set: u64, old: u64): u32;
/**
 * Finds the object that contains an address, without a lock. Returns 0 if there is one, and fills in
 * `result`.
 */
@external("_dl_find_object")
export declare function dlFindObject(address: u64, result: u64): u32;
/** Returns a value of the auxiliary vector; 0 if it has none of this type. */
export declare function getauxval(type: u64): u64;
/** Returns the definition of a name. With the handle -1: the next definition behind the calling object. */
export declare function dlsym(handle: u64, name: u64): u64;
