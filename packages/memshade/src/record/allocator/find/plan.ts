/**
 * Role of a hooked function.
 *
 * C, C++ and Rust names mean the interface of that name. `wbindgen_*` are exports that wasm-bindgen's JavaScript calls;
 * `as_*` are entry points of AssemblyScript's runtime.
 */
export type AllocatorRole =
  | "malloc"
  | "calloc"
  | "realloc"
  | "free"
  | "memalign"
  | "aligned_alloc"
  | "posix_memalign"
  | "reallocarray"
  | "valloc"
  | "aligned_realloc"
  | "rust_alloc"
  | "rust_alloc_zeroed"
  | "rust_realloc"
  | "rust_dealloc"
  | "wbindgen_malloc"
  | "wbindgen_realloc"
  | "wbindgen_free"
  | "new"
  | "delete"
  | "as_new"
  | "as_renew"
  | "as_free";

/** Effect of a hooked function on blocks: begins one, moves or resizes one, or ends one. */
export type AllocatorKind = "allocate" | "reallocate" | "release";

/**
 * A function to hook. Parameter positions start at 0; −1: the function has no such parameter.
 *
 * - size of the block: `params[sizeParam]`, times `params[countParam]` if there is a count, plus `sizeOffset`
 * - old block (reallocate, release): `params[pointerParam] + pointerOffset`
 * - new block (allocate, reallocate): result 0 plus `pointerOffset`. With an `outPointerParam` (`posix_memalign`): the
 * address stored at `params[outPointerParam]` if result 0 is zero
 */
export interface AllocatorFunction {
  /** Function index in the original module; never an import. */
  index: number;
  /** Name to show: from the name section, else from exports, else undefined. */
  name: string | undefined;
  role: AllocatorRole;
  kind: AllocatorKind;
  sizeParam: number;
  countParam: number;
  pointerParam: number;
  outPointerParam: number;
  /**
   * Offset from a parameter or result to the address of the recorded block; a null pointer stays null. 0 except in
   * optimized AssemblyScript, whose remaining functions use addresses of block headers, and negative if `sizeOffset` is
   * not 0. A release with an offset may also get addresses that were never recorded (the rest of a split block); the
   * tools ignore them.
   */
  pointerOffset: number;
  /**
   * Added to the requested size. 0 unless the program's function keeps a header of its own before the block and the
   * allocator's `realloc` was inlined into it.
   */
  sizeOffset: number;
}

/** Source by which the allocator was found, in the order of trust. `none`: not found; the notes explain why. */
export type AllocatorSource = "option" | "names" | "exports" | "glue" | "wrapper" | "structure" | "none";

export interface AllocatorPlan {
  how: AllocatorSource;
  /** All functions to hook: the entries by which other code may call the allocator. Sorted by index. */
  functions: AllocatorFunction[];
  /**
   * Functions among `wrappers` of a collector that make an object larger. If they move it, they request a new block and
   * leave the old one to the collector. Their operands are those of `as_renew`, for the recorded block.
   */
  renewing: AllocatorFunction[];
  /**
   * Functions that only pass a request on (`__wbindgen_malloc`, an `xmalloc`). They are not hooked and get no stack
   * frame, so the allocation site is in their caller. Their accesses count as the allocator's. Disjoint from
   * `functions` and `internals`.
   */
  wrappers: number[];
  /**
   * All functions of the allocator, including hooked ones. Their accesses are not counted. Calls between them bypass
   * the hooks, so that an allocation is recorded once, at the outermost entry.
   */
  internals: number[];
  /**
   * Copy and fill functions (`memcpy`, `memset`) that both the allocator (or a wrapper) and other code call. The
   * allocator calls an uninstrumented copy of them, so only accesses for other code are counted.
   */
  sharedHelpers: number[];
  /**
   * Wrappers that functions of the allocator call, directly or through each other. Such calls bypass the hooks; all
   * other calls reach them.
   */
  sharedWrappers: number[];
  /** True if the pair was recognized only by its shape. It must be confirmed while the program runs. */
  needsConfirmation: boolean;
  /** A sentence for the user if a garbage collector owns the memory, fully or in part. */
  collector: string | undefined;
  /** Pairs of functions that look like further allocators, as texts of an `--allocator` option. */
  further: string[];
  /**
   * Functions that return blocks from the allocator, of a size that their caller decides. They have stack frames like
   * all others.
   */
  layers: number[];
  notes: string[];
}

export interface OperandPositions {
  kind: AllocatorKind;
  sizeParam: number;
  countParam: number;
  pointerParam: number;
  outPointerParam: number;
}

const allocate = (sizeParam: number, countParam = -1, outPointerParam = -1): OperandPositions => ({
  kind: "allocate",
  sizeParam,
  countParam,
  pointerParam: -1,
  outPointerParam,
});

const reallocate = (pointerParam: number, sizeParam: number, countParam = -1): OperandPositions => ({
  kind: "reallocate",
  sizeParam,
  countParam,
  pointerParam,
  outPointerParam: -1,
});

const release = (pointerParam: number): OperandPositions => ({
  kind: "release",
  sizeParam: -1,
  countParam: -1,
  pointerParam,
  outPointerParam: -1,
});

/**
 * Interface of each role: operand positions, and possible numbers of parameters. An allocating role has one result, a
 * releasing one none. All operands are addresses or sizes (i32, or i64 in memory64).
 */
export const ROLES: Readonly<
  Record<AllocatorRole, { operands: OperandPositions; parameters: readonly number[] }>
> = {
  malloc: { operands: allocate(0), parameters: [1] },
  calloc: { operands: allocate(1, 0), parameters: [2] },
  realloc: { operands: reallocate(0, 1), parameters: [2] },
  free: { operands: release(0), parameters: [1, 2, 3] },
  memalign: { operands: allocate(1), parameters: [2] },
  aligned_alloc: { operands: allocate(1), parameters: [2] },
  posix_memalign: { operands: allocate(2, -1, 0), parameters: [3] },
  reallocarray: { operands: reallocate(0, 2, 1), parameters: [3] },
  valloc: { operands: allocate(0), parameters: [1] },
  aligned_realloc: { operands: reallocate(0, 2), parameters: [3] },
  rust_alloc: { operands: allocate(0), parameters: [2] },
  rust_alloc_zeroed: { operands: allocate(0), parameters: [2] },
  rust_realloc: { operands: reallocate(0, 3), parameters: [4] },
  rust_dealloc: { operands: release(0), parameters: [3] },
  wbindgen_malloc: { operands: allocate(0), parameters: [1, 2] },
  wbindgen_realloc: { operands: reallocate(0, 2), parameters: [3, 4] },
  wbindgen_free: { operands: release(0), parameters: [2, 3] },
  new: { operands: allocate(0), parameters: [1, 2, 3] },
  delete: { operands: release(0), parameters: [1, 2, 3] },
  as_new: { operands: allocate(0), parameters: [1, 2] },
  as_renew: { operands: reallocate(0, 1), parameters: [2] },
  as_free: { operands: release(0), parameters: [1, 2] },
};

/**
 * Returns the operand positions of a role by the function's number of parameters; undefined if no function of the role
 * has that many. An optimizer removes a parameter that is the same in all calls, so `memalign` may have only a size.
 */
export function usualOperands(role: AllocatorRole, parameterCount: number): OperandPositions | undefined {
  const { operands, parameters } = ROLES[role];
  if (parameters.includes(parameterCount)) return operands;
  const takesAlignment = role === "memalign" || role === "aligned_alloc" || role === "posix_memalign";
  if (!takesAlignment || parameterCount !== parameters[0] - 1) return undefined;
  return { ...operands, sizeParam: operands.sizeParam - 1 };
}
