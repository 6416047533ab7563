/** Calls of a process that are hooked. */
export interface Hooked {
  blocks: boolean;
  mappings: boolean;
  /** A tool's code is inserted, and forked processes need counters of their own. */
  isCounting?: boolean | undefined;
  /** Exits, because the parent reads the memory then. */
  isLookedAt?: boolean | undefined;
  /** Starts of threads, and signals, for samples. */
  isSampled: boolean;
  /** Functions of an allocator other than the C library's: names of symbols, and addresses in its object. */
  foreign: ReadonlyMap<string, number>;
}

interface NextFunction {
  /** Name in the assembly code. */
  name: string;
  /** Name that only the GNU C library has. It is called until the next definition is looked up. */
  libcName?: string;
  /** Symbol if it differs from the name, or if only other allocators have it. */
  foreign?: string;
  /** Only the known definition is called. */
  isFixed?: boolean;
}

/**
 * Functions whose next definitions behind the image are called. The first ones are in the order of
 * `NextWord`.
 */
export const NEXT: readonly NextFunction[] = [
  { name: "_dl_find_object", libcName: "_dl_find_object", isFixed: true },
  { name: "malloc", libcName: "__libc_malloc" },
  { name: "_exit" },
  { name: "mallinfo2", libcName: "mallinfo2", isFixed: true },
  { name: "calloc", libcName: "__libc_calloc" },
  { name: "realloc", libcName: "__libc_realloc" },
  { name: "free", libcName: "__libc_free" },
  { name: "memalign", libcName: "__libc_memalign" },
  { name: "valloc", libcName: "__libc_valloc" },
  { name: "pvalloc", libcName: "__libc_pvalloc" },
  { name: "reallocarray" },
  { name: "aligned_alloc" },
  { name: "posix_memalign" },
  { name: "malloc_usable_size" },
  { name: "dlclose" },
  { name: "fork" },
  { name: "execve" },
  { name: "execvpe" },
  { name: "fexecve" },
  { name: "mmap" },
  { name: "munmap" },
  { name: "mremap" },
  { name: "mlockall" },
  { name: "operatorNew", foreign: "_Znwm" },
  { name: "operatorNewNothrow", foreign: "_ZnwmRKSt9nothrow_t" },
  { name: "operatorNewAligned", foreign: "_ZnwmSt11align_val_t" },
  { name: "operatorNewAlignedNothrow", foreign: "_ZnwmSt11align_val_tRKSt9nothrow_t" },
  { name: "mallocx", foreign: "mallocx" },
  { name: "rallocx", foreign: "rallocx" },
  { name: "dallocx", foreign: "dallocx" },
  { name: "sdallocx", foreign: "sdallocx" },
  { name: "pthread_create" },
  { name: "thrd_create" },
  { name: "sigaction" },
  { name: "signal" },
  { name: "pthread_sigmask" },
  { name: "sigprocmask" },
];
const SAMPLING = new Set([
  "pthread_create",
  "thrd_create",
  "sigaction",
  "signal",
  "pthread_sigmask",
  "sigprocmask",
]);

/**
 * Returns the symbol to look up for each function; empty if no object has it, because a failed lookup
 * allocates memory.
 */
export function nextNames({ foreign }: Hooked): string[] {
  return NEXT.map((next) => {
    if (next.isFixed === true) return "";
    if (next.foreign === undefined) return next.name;
    return foreign.has(next.foreign) ? next.foreign : "";
  });
}

/** Exports of the code that are no names of the program. */
const INTERNAL = [
  ...["memory_open", "initialize", "finalize", "begin_thread", "sample_handler", "sample_block"],
  ...["at_exit", "end_program", "exit_program"],
];
/** Functions by which a process replaces itself by another program. */
const EXEC = ["execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve"];
/** Exports that neither use nor open the runtime's memory. */
export const WITHOUT_MEMORY: readonly string[] = ["at_exit", "exit_now", ...EXEC];
/** Exports that have nothing to do with blocks. */
const BESIDE_BLOCKS = ["dlclose", "mlockall"];
/** Exports for mapped memory. On x86-64, mmap and mmap64 are the same function. */
const MAPPING: Readonly<Record<string, readonly string[]>> = {
  mmap: ["mmap", "mmap64"],
  munmap: ["munmap"],
  mremap: ["mremap"],
};
const NOTHROW = "RKSt9nothrow_t";
const ALIGNED = "St11align_val_t";
export const ALIGNED_OPERATORS = ["w", "a"].flatMap((kind) =>
  ["", NOTHROW].map((suffix) => `_Zn${kind}m${ALIGNED}${suffix}`),
);

/**
 * Aliases of functions: C++ operators, and names that tcmalloc and mimalloc have beside those of the C
 * library. Each does the same as the named function of the same allocator.
 */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  operatorNew: ["_Znwm", "_Znam", "tc_new", "tc_newarray", "mi_new"],
  operatorNewNothrow: [
    `_Znwm${NOTHROW}`,
    `_Znam${NOTHROW}`,
    "tc_new_nothrow",
    "tc_newarray_nothrow",
    "mi_new_nothrow",
  ],
  operatorNewAligned: [
    `_Znwm${ALIGNED}`,
    `_Znam${ALIGNED}`,
    "tc_new_aligned",
    "tc_newarray_aligned",
    "mi_new_aligned",
  ],
  operatorNewAlignedNothrow: [
    `_Znwm${ALIGNED}${NOTHROW}`,
    `_Znam${ALIGNED}${NOTHROW}`,
    "tc_new_aligned_nothrow",
    "tc_newarray_aligned_nothrow",
    "mi_new_aligned_nothrow",
  ],
  free: [
    ...["l", "a"].flatMap((kind) =>
      ["", "m", NOTHROW, ALIGNED, `m${ALIGNED}`, `${ALIGNED}${NOTHROW}`].map(
        (suffix) => `_Zd${kind}Pv${suffix}`,
      ),
    ),
    "cfree",
    "tc_free",
    "tc_cfree",
    "tc_free_sized",
    "mi_free",
    "mi_cfree",
    "mi_free_size",
    "mi_free_aligned",
    "mi_free_size_aligned",
    ...["tc_delete", "tc_deletearray"].flatMap((name) =>
      ["", "_sized", "_nothrow", "_aligned", "_sized_aligned", "_aligned_nothrow"].map(
        (suffix) => name + suffix,
      ),
    ),
  ],
  malloc: ["tc_malloc", "mi_malloc"],
  calloc: ["tc_calloc", "mi_calloc"],
  realloc: ["tc_realloc", "mi_realloc"],
  reallocarray: ["mi_reallocarray"],
  memalign: ["tc_memalign", "mi_memalign"],
  aligned_alloc: ["mi_aligned_alloc"],
  posix_memalign: ["tc_posix_memalign", "mi_posix_memalign"],
  valloc: ["tc_valloc", "mi_valloc"],
  pvalloc: ["tc_pvalloc", "mi_pvalloc"],
  malloc_usable_size: ["tc_malloc_size", "mi_usable_size", "mi_malloc_usable_size", "mi_malloc_size"],
  mallocx: ["mallocx"],
  rallocx: ["rallocx"],
  dallocx: ["dallocx"],
  sdallocx: ["sdallocx"],
};
/** Returns the symbols under which an export replaces functions of the program. */
export function symbolsOf(name: string, hooked: Hooked): string[] {
  const { blocks, mappings, isCounting, isSampled, isLookedAt, foreign } = hooked;
  if (INTERNAL.includes(name)) return [];
  if (name === "exit_now") return isLookedAt === true ? ["_exit", "_Exit"] : [];
  if (name === "fork") return isCounting === true ? [name] : [];
  if (EXEC.includes(name)) return [name];
  if (SAMPLING.has(name)) return isSampled ? [name] : [];
  if (MAPPING[name] !== undefined) return mappings ? [...MAPPING[name]] : [];
  if (!blocks && !BESIDE_BLOCKS.includes(name)) return [];
  const next = NEXT.find((entry) => entry.name === name);
  // An export that only other allocators have is called by their symbol.
  const own = next?.foreign ?? name;
  const aliases = (FOREIGN[name] ?? []).filter((symbol) => isReplaced(symbol, own, foreign));
  return next?.foreign === undefined ? [name, ...aliases] : aliases;
}

/**
 * Returns true if an allocator's function does the same as the one that the hook calls: C++ operators, and
 * other names of the same address. Other functions call each other by these names.
 */
function isReplaced(symbol: string, own: string, foreign: ReadonlyMap<string, number>): boolean {
  if (!foreign.has(symbol) || !foreign.has(own)) return false;
  return symbol.startsWith("_Z") || foreign.get(symbol) === foreign.get(own);
}

/** Returns true if calls of an allocator's function by this name are recorded. */
export function isSeen(symbol: string, foreign: ReadonlyMap<string, number>): boolean {
  const hooked = { blocks: true, mappings: false, isSampled: false, foreign };
  return NEXT.some(({ name }) => symbolsOf(name, hooked).includes(symbol));
}
