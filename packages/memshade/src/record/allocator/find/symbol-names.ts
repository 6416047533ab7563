import type { AllocatorRole, OperandPositions } from "./plan.ts";
import { ROLES, usualOperands } from "./plan.ts";

/**
 * Meaning of a symbol name: an entry of the allocator, a function that only passes requests on, or an inner part of an
 * allocator.
 */
export type SymbolMeaning =
  | {
      part: "entry";
      role: AllocatorRole;
      operandsOf: (parameterCount: number) => OperandPositions | undefined;
    }
  | { part: "wrapper" }
  | { part: "inner" };

/** C names. Each also occurs with the prefixes below. */
const C_ROLES: ReadonlyMap<string, AllocatorRole> = new Map([
  ["malloc", "malloc"],
  ["calloc", "calloc"],
  ["realloc", "realloc"],
  ["free", "free"],
  ["memalign", "memalign"],
  ["aligned_alloc", "aligned_alloc"],
  ["posix_memalign", "posix_memalign"],
  ["reallocarray", "reallocarray"],
  ["reallocf", "realloc"],
  ["valloc", "valloc"],
  ["pvalloc", "valloc"],
  ["cfree", "free"],
  ["free_sized", "free"],
  ["free_aligned_sized", "free"],
]);

const C_PREFIXES = [
  "emscripten_builtin_",
  "__wrap___libc_",
  "__wrap_",
  "__real_",
  "__libc_",
  "emmalloc_",
  "je_",
  "mi_",
  "dl",
  "__",
  "_",
  "",
];

const SPECIAL_ROLES: ReadonlyMap<string, AllocatorRole> = new Map([
  ["internal_memalign", "memalign"],
  ["emmalloc_aligned_realloc", "aligned_realloc"],
  ["emmalloc_realloc_uninitialized", "realloc"],
  ["mi_zalloc", "malloc"],
  ["mi_malloc_small", "malloc"],
  ["mi_zalloc_small", "malloc"],
  ["mi_reallocn", "reallocarray"],
  ["mi_mallocn", "calloc"],
  ["mi_free_size", "free"],
  ["mi_free_size_aligned", "free"],
  ["mi_free_aligned", "free"],
  ["mi_malloc_aligned", "rust_alloc"],
  ["mi_zalloc_aligned", "rust_alloc"],
  ["__wbindgen_malloc", "wbindgen_malloc"],
  ["__wbindgen_realloc", "wbindgen_realloc"],
  ["__wbindgen_free", "wbindgen_free"],
]);

const RUST_ROLES: ReadonlyMap<string, AllocatorRole> = new Map([
  ["alloc", "rust_alloc"],
  ["alloc_zeroed", "rust_alloc_zeroed"],
  ["realloc", "rust_realloc"],
  ["dealloc", "rust_dealloc"],
]);

/** Inner functions of dlmalloc and emmalloc in their C builds, and their sources of memory. */
const INNER_NAMES = new Set([
  "sbrk",
  "__sbrk",
  "tmalloc_small",
  "tmalloc_large",
  "prepend_alloc",
  "add_segment",
  "sys_alloc",
  "sys_trim",
  "release_unused_segments",
  "dispose_chunk",
  "try_realloc_chunk",
  "mmap_resize",
  "mmap_alloc",
  "init_mparams",
  "init_bins",
  "init_top",
  "segment_holding",
  "has_segment_link",
  "allocate_memory",
  "claim_more_memory",
  "attempt_allocate",
  "emmalloc_realloc_try",
  "emscripten_get_heap_size",
]);

/** Copy and fill functions of the C library and of Rust's compiler_builtins, as `splitName` returns them. */
const COPY_NAMES = new Set([
  "memcpy",
  "memmove",
  "memset",
  "mempcpy",
  "bzero",
  "bcopy",
  "__memcpy",
  "__memmove",
  "__memset",
]);

/** Removes the suffixes of compilers' function clones: `free.1`, `malloc.llvm.4711`, `x.constprop.0`. */
export function withoutCloneSuffix(name: string): string {
  return name.replace(/(?:\.(?:llvm\.\d+|constprop\.\d+|isra\.\d+|part\.\d+|cold|\d+))+$/, "");
}

/**
 * Splits a demangled C++ or Rust name into its last identifier and scope: `a::b<c>::f[abi:x]<int>(char const*) const`
 * gives scope `a::b<c>` and base `f`.
 */
export function splitName(name: string): { scope: string; base: string } {
  let angleDepth = 0;
  let end = name.length;
  let lastSeparator = -1;
  let templateStart = -1;
  for (let i = 0; i < name.length; i++) {
    const character = name.charCodeAt(i);
    if (character === 0x3c /* < */) {
      if (angleDepth === 0 && i > lastSeparator + 2) templateStart = i;
      angleDepth++;
    } else if (character === 0x3e /* > */ && angleDepth > 0) {
      angleDepth--;
    } else if (angleDepth === 0) {
      if (character === 0x28 /* ( */ && i > 0) {
        end = i;
        break;
      }
      if (character === 0x3a /* : */ && name.charCodeAt(i + 1) === 0x3a) {
        lastSeparator = i++;
        templateStart = -1;
      }
    }
  }
  const baseStart = lastSeparator < 0 ? 0 : lastSeparator + 2;
  let base = name.slice(baseStart, templateStart > baseStart ? Math.min(templateStart, end) : end);
  const tag = base.indexOf("[");
  if (tag > 0) base = base.slice(0, tag);
  return { scope: lastSeparator < 0 ? "" : name.slice(0, lastSeparator), base };
}

/** True for `memcpy` and its variants, which an allocator shares with the program. */
export function isCopyOrFillName(name: string): boolean {
  return COPY_NAMES.has(splitName(withoutCloneSuffix(name)).base);
}

function entry(role: AllocatorRole): SymbolMeaning {
  return { part: "entry", role, operandsOf: (count) => usualOperands(role, count) };
}

function meaningOfCName(name: string): SymbolMeaning | undefined {
  for (const prefix of C_PREFIXES) {
    if (!name.startsWith(prefix)) continue;
    const role = C_ROLES.get(name.slice(prefix.length));
    if (role !== undefined) return entry(role);
  }
  const special = SPECIAL_ROLES.get(name);
  return special === undefined ? undefined : entry(special);
}

/**
 * Returns the meaning of `operator new` and `operator delete` in every replaceable form. Placement forms allocate
 * nothing.
 */
function meaningOfOperator(name: string): SymbolMeaning | undefined {
  if (/^_Zn[wa][jmy]/.test(name)) return /^_Zn[wa][jmy]P/.test(name) ? { part: "inner" } : entry("new");
  if (/^_Zd[la]Pv/.test(name)) return /^_Zd[la]PvS/.test(name) ? { part: "inner" } : entry("delete");
  const operator = /^operator (new|delete)(?:\[\])?(?:\[abi:\w+\])?\((.*)\)$/.exec(name);
  if (operator === null) return undefined;
  if (/, *void ?\*$/.test(operator[2])) return { part: "inner" };
  return entry(operator[1] as "new" | "delete");
}

/**
 * Returns the meaning of a method of the dlmalloc crate. The crate has two structures of the same name:
 * `dlmalloc::dlmalloc::Dlmalloc` with C's interface, and `dlmalloc::Dlmalloc` around it, which takes alignments. Both
 * take `self` first, unless the optimizer removed it, so the number of parameters decides about the shift.
 */
function meaningInDlmallocCrate(method: string, inside: boolean): SymbolMeaning {
  const role = C_ROLES.get(method);
  if (role === undefined) return { part: "inner" };
  if (!inside) return { part: "wrapper" };
  return {
    part: "entry",
    role,
    operandsOf: (count) => {
      const { operands, parameters } = ROLES[role];
      const shift = count - parameters[0];
      if (shift !== 0 && shift !== 1) return undefined;
      const move = (position: number) => (position < 0 ? position : position + shift);
      return {
        ...operands,
        sizeParam: move(operands.sizeParam),
        countParam: move(operands.countParam),
        pointerParam: move(operands.pointerParam),
      };
    },
  };
}

/** Returns the meaning of a Rust symbol: legacy or v0, mangled or demangled. */
function meaningOfRustName(name: string): SymbolMeaning | undefined {
  // __rust_alloc; __rdl_alloc; _RNvCs..._7___rustc12___rust_alloc; __rustc[5af3]::__rust_alloc
  const shim = /(?:^|::|\d_)__(?:rust|rdl|rg)_(alloc|alloc_zeroed|realloc|dealloc)(?:::h[0-9a-f]{16})?$/.exec(
    name,
  );
  if (shim !== null) return entry(RUST_ROLES.get(shim[1])!);
  if (name.includes("8dlmalloc")) {
    const inside = name.includes("8dlmalloc8dlmalloc");
    const method =
      /(?:8Dlmalloc\w*?E|Dlmalloc(?:\$LT\$.*?\$GT\$)?)\d+([a-z_]+?)(?:17h[0-9a-f]{16}E|C[s\d]|$|E)/.exec(
        name,
      );
    return meaningInDlmallocCrate(method?.[1] ?? "", inside);
  }
  if (name.includes("dlmalloc::")) {
    const { scope, base } = splitName(
      name.replace(/::h[0-9a-f]{16}$/, "").replace(/<(dlmalloc::[^>]*?)(?:<[^<>]*>)?>::/, "$1::"),
    );
    return meaningInDlmallocCrate(base, scope.includes("dlmalloc::dlmalloc"));
  }
  if (/GlobalAlloc|alloc::alloc::/.test(name) && !name.includes("handle_alloc_error")) {
    const { scope, base } = splitName(name.replace(/::h[0-9a-f]{16}$/, ""));
    const forwards =
      /GlobalAlloc|alloc::alloc$|alloc::alloc::Global|core::alloc::Allocator/.test(scope || name) &&
      /^(?:exchange_malloc|alloc|alloc_zeroed|realloc|dealloc|alloc_impl|alloc_impl_runtime|grow_impl|grow_impl_runtime|shrink_impl|allocate|allocate_zeroed|deallocate|grow|grow_zeroed|shrink)$/.test(
        base,
      );
    if (forwards) return { part: "wrapper" };
  }
  return undefined;
}

/** Returns the meaning of functions of libc++ and libstdc++ between a container and `operator new`. */
function meaningOfStandardLibraryName(name: string): SymbolMeaning | undefined {
  if (!name.includes("std::")) return undefined;
  const { scope, base } = splitName(name);
  if (
    /^(?:__libcpp_(?:operator_new|operator_delete|allocate|deallocate|aligned_alloc|aligned_free)|__allocate_at_least)$/.test(
      base,
    )
  )
    return { part: "wrapper" };
  const isAllocator = /(?:^|::| )(?:allocator|allocator_traits|new_allocator|__new_allocator)<.*>$/.test(
    scope,
  );
  return isAllocator && /^(?:allocate|deallocate|allocate_at_least)$/.test(base)
    ? { part: "wrapper" }
    : undefined;
}

/**
 * Reads a function's name as an allocator's: C, C++, Rust, wasm-bindgen and Emscripten spellings, mangled or demangled.
 * Returns undefined for all other names. Functions of AssemblyScript's runtime are not covered here.
 */
export function meaningOfSymbol(symbol: string): SymbolMeaning | undefined {
  if (!/alloc|free|memalign|operator[ _]|_Z[nd]|sbrk|init_|trim|segment|chunk|mmap/.test(symbol))
    return undefined;
  // wasm-ld and Emscripten put thunks around exported functions.
  if (/\.command_export$|^legalstub\$/.test(symbol)) {
    const inner = symbol.replace(/\.command_export$|^legalstub\$/g, "");
    const part = meaningOfSymbol(inner)?.part;
    return part === "entry" || part === "wrapper" ? { part: "wrapper" } : undefined;
  }
  const name = withoutCloneSuffix(symbol);
  const meaning =
    meaningOfCName(name) ??
    meaningOfOperator(name) ??
    meaningOfRustName(name) ??
    meaningOfStandardLibraryName(name);
  if (meaning !== undefined) return meaning;
  return INNER_NAMES.has(name) ? { part: "inner" } : undefined;
}

export function isOperatorNew(symbol: string | undefined): boolean {
  return symbol !== undefined && /^(?:operator new\b|_Zn[wa][mj])/.test(symbol);
}

/**
 * True if a symbol, mangled or not, is a C++ function that is neither an allocation function nor of the standard
 * library.
 */
export function isProgramCpp(symbol: string | undefined): boolean {
  if (symbol === undefined || isOperatorNew(symbol)) return false;
  if (symbol.startsWith("_Z")) return !/^_ZN?[KVrO]*St/.test(symbol);
  const end = symbol.indexOf("(");
  // Template arguments may be of the standard library.
  return end > 0 && !/(?:^|\s)std::/.test(symbol.slice(0, end).replaceAll(/<[^<>]*>/g, ""));
}
