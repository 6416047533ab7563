import type { Module } from "./modules.ts";
import type { Registers } from "./registers.ts";

/**
 * Way in which a frame was found, which determines how reliable it is.
 *
 * - `context`: the innermost frame, given by the caller
 * - `cfi`: call frame information of the frame below
 * - `plt`: the frame below is a stub of a procedure linkage table, recognised by its code
 * - `signal`: the frame below is a signal trampoline, recognised by its code; this frame was interrupted
 * - `call`: the frame below has no rules, and its function seems to have just been called
 * - `frame-pointer`: frame pointer of the frame below
 * - `scan`: a word on the stack that could be a return address: a guess
 */
export const FOUND_BY = ["context", "cfi", "plt", "signal", "call", "frame-pointer", "scan"] as const;
export type FoundBy = (typeof FOUND_BY)[number];

/**
 * Reason why a stack ends.
 *
 * - `outermost`: the last frame has no caller, according to call frame information
 * - `zero`: the return address is 0, as in the first frame of threads of some libraries
 * - `memory`: memory could not be read: the copied stack is too short, or the stack is damaged
 * - `no-rule`: no rules for the last frame's code, and no other way to its caller
 * - `loop`: the frames would repeat, or the stack would run backwards
 * - `limit`: the maximum number of frames was reached
 */
export const END_REASONS = ["outermost", "zero", "memory", "no-rule", "loop", "limit"] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Frame of a stack. Addresses are those of the process. */
export interface Frame {
  /** Program counter; in a caller the return address, just after the call. */
  readonly pc: number;
  /** Address to look up in tables and debug information: `pc − 1` in callers, so that it is inside the call. */
  readonly lookupAddress: number;
  /** Canonical frame address; undefined if the frame's rules do not give one. */
  readonly cfa: number | undefined;
  /** Kind of the frame; `signal` is the trampoline between a signal handler and the interrupted code. */
  readonly kind: "normal" | "signal";
  readonly foundBy: FoundBy;
  readonly module: Module | undefined;
  /** True if the return address was signed (pointer authentication). */
  readonly wasSigned: boolean;
  /** Known registers in this frame, if requested. */
  readonly registers: Registers | undefined;
}

/** Stack, innermost frame first. */
export interface UnwoundStack {
  readonly frames: readonly Frame[];
  readonly end: EndReason;
}
