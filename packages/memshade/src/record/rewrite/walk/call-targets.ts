export interface CallTargets {
  /** Returns the function to call instead of `callee`, usually `callee` itself. */
  target(caller: number, callee: number): number;
}

export const SAME_TARGETS: CallTargets = { target: (_caller, callee) => callee };
