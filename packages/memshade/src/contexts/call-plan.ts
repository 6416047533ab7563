/** What a call site does with the shadow stack. */
export const CallTreatment = {
  /** No allocation can happen below: the stack is left alone. */
  None: 0,
  /** The caller writes its frame and the callee starts behind it. */
  Push: 1,
  /** The callee takes over the caller's place: recursion, tail calls, folded wrappers. */
  Keep: 2,
  /** As Push, and whatever comes back into the module from the host continues there. */
  Host: 3,
  /** A tail call out of the module: what comes back in continues in the caller's place. */
  KeepHost: 4,
} as const;

/** Decides for each call what happens to the shadow stack. */
export interface CallPlan {
  /** Whether calls in this function may need frames at all. */
  hasFrames(caller: number): boolean;
  /** `CallTreatment`; `callee` is −1 for a call through a table or a reference. */
  treatment(caller: number, callee: number, tail: boolean): number;
}
