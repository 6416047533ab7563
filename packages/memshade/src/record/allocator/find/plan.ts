/**
 * What a hooked function means to its caller.
 *
 * The C, C++ and Rust names stand for the interface of that name. `wbindgen_*` are the exports that
 * wasm-bindgen's JavaScript calls, `as_*` the entry points of AssemblyScript's runtime.
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

/** What a hook has to do with its block: record a new one, move or resize one, or end one. */
export type AllocatorKind = "allocate" | "reallocate" | "release";

/**
 * One function to hook. Parameter positions count from 0; −1 stands for "has none".
 *
 * - size of the block: `params[sizeParam]`, times `params[countParam]` when there is a count, plus `sizeOffset`
 * - old block (reallocate, release): `params[pointerParam] + pointerOffset`
 * - new block (allocate, reallocate): result 0 plus `pointerOffset`, or, with an `outPointerParam`
 *   (`posix_memalign`), the address stored at `params[outPointerParam]` if result 0 is zero
 */
export interface AllocatorFunction {
  /** Function index in the original module; never an import. */
  index: number;
  /** The name to show: name section, else export, else undefined. */
  name: string | undefined;
  role: AllocatorRole;
  kind: AllocatorKind;
  sizeParam: number;
  countParam: number;
  pointerParam: number;
  outPointerParam: number;
  /**
   * Added to the pointer a function takes or returns to get the address of the block as recorded; a null
   * pointer stays null. 0 except in optimised AssemblyScript, where what is left of the allocator hands
   * around block headers that lie in front of the object. A release with an offset may also get addresses that were
   * never recorded (the rest of a split block); those mean nothing. Negative where `sizeOffset` is not 0.
   */
  pointerOffset: number;
  /**
   * Added to the size that is asked for to get the size of the block. 0 except where a program's function keeps a
   * header of its own in front of the block and the allocator's `realloc` was inlined into it.
   */
  sizeOffset: number;
}

/** How the allocator was found, in the order of trust. `none`: it was not, the notes say why. */
export type AllocatorSource = "option" | "names" | "exports" | "glue" | "wrapper" | "structure" | "none";

/** Everything a rewriter has to know about the allocator of one module. */
export interface AllocatorPlan {
  how: AllocatorSource;
  /** All functions to hook: each entry by which code outside the allocator may come in. Sorted by index. */
  functions: AllocatorFunction[];
  /**
   * Of `wrappers`, functions of a collector that make an object larger. Where they move it, they take a new block and leave the old one to the
   * collector. Their operands are those of `as_renew`, for the block that is recorded.
   */
  renewing: AllocatorFunction[];
  /**
   * Functions that only pass a request on (`__wbindgen_malloc`, an `xmalloc`): not hooked, and they get no stack
   * frame, so the site of an allocation is their caller. What they access is the allocator's doing, not the
   * program's. Disjoint from `functions` and `internals`.
   */
  wrappers: number[];
  /**
   * All functions that belong to the allocator, hooked ones included: their accesses are not counted, and calls
   * from one of them to a hooked function go to its plain body, so that an allocation is recorded
   * once, at the outermost entry.
   */
  internals: number[];
  /**
   * Copy and fill functions (`memcpy`, `memset`) that internals or wrappers call and that other code calls too.
   * They stay counted for that code; accesses made on behalf of `realloc` and `calloc` are kept
   * out by letting the allocator call an uninstrumented twin.
   */
  sharedHelpers: number[];
  /**
   * Wrappers that functions of the allocator call, directly or through each other. For those they are the way to the
   * plain bodies too; called from elsewhere they lead to the hooks.
   */
  sharedWrappers: number[];
  /** The pair was recognised by its shape only: trust it after it has been confirmed while running. */
  needsConfirmation: boolean;
  /**
   * Members of the family that were recognised by shape although `malloc` and `free` are certain: worth the same
   * confirmation. Empty when `needsConfirmation` is set, which covers all.
   */
  structural: number[];
  /** A sentence for the user when a garbage collector owns the memory, wholly or in part. */
  collector: string | undefined;
  /** Functions that look like further allocators, each pair as the text of an `--allocator` option. */
  further: string[];
  /** Functions that hand on what the allocator gave them, for a size that their caller decides. They stand on stacks like any other. */
  layers: number[];
  /** Plain sentences: what was found and how, what was not. */
  notes: string[];
}

/** Positions of one role's operands, before a module is known. */
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
 * The interface of each role: operand positions, and how many parameters its function may have. An allocating
 * role has one result, a releasing one none; all operands are addresses or sizes (i32, or i64 in memory64).
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
 * Where a function of a role has its operands, by the number of its parameters. Undefined: nothing of that role has so
 * many. An optimiser takes away a parameter that is the same in all calls: what is left of `memalign` takes a size.
 */
export function usualOperands(role: AllocatorRole, parameterCount: number): OperandPositions | undefined {
  const { operands, parameters } = ROLES[role];
  if (parameters.includes(parameterCount)) return operands;
  const takesAlignment = role === "memalign" || role === "aligned_alloc" || role === "posix_memalign";
  if (!takesAlignment || parameterCount !== parameters[0] - 1) return undefined;
  return { ...operands, sizeParam: operands.sizeParam - 1 };
}
