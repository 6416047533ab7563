export interface CallTargets {
  /** Returns the function to call instead of `callee`, usually `callee` itself. */
  target(caller: number, callee: number): number;
}

/** Targets of a module whose functions were not moved. */
export const SAME_TARGETS: CallTargets = { target: (_caller, callee) => callee };
