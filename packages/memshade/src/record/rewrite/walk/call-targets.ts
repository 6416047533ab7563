/** Which calls lead elsewhere. */
export interface CallTargets {
  /** The function to call instead of `callee`; `callee` itself as a rule. */
  target(caller: number, callee: number): number;
}

/** The targets of a module in which nothing was moved. */
export const SAME_TARGETS: CallTargets = { target: (_caller, callee) => callee };
