import type { Module } from "./modules.ts";
import type { Registers } from "./registers.ts";

/**
 * How a frame was found, which says how far to trust it.
 *
 * - `context`: the innermost, given by the caller
 * - `cfi`: by call frame information of the frame below it
 * - `plt`: the frame below is a stub of a procedure linkage table, known by its code
 * - `signal`: the frame below is a signal's trampoline, known by its code; it was interrupted
 * - `call`: the frame below has no rules, and looks like it was just called
 * - `frame-pointer`: by the frame pointer of the frame below
 * - `scan`: a word on the stack that looks like a return address: a guess
 */
export const FOUND_BY = ["context", "cfi", "plt", "signal", "call", "frame-pointer", "scan"] as const;
export type FoundBy = (typeof FOUND_BY)[number];

/**
 * Why a stack ends.
 *
 * - `outermost`: nobody called the last frame: call frame information says so
 * - `zero`: its return address is 0, which threads of some libraries begin with
 * - `memory`: what leads on could not be read: a copy of a stack that is too short, or a damaged stack
 * - `no-rule`: no rules for the last frame's code, and nothing else led on
 * - `loop`: the frames would repeat, or the stack would run backwards
 * - `limit`: as many frames as were asked for
 */
export const END_REASONS = ["outermost", "zero", "memory", "no-rule", "loop", "limit"] as const;
export type EndReason = (typeof END_REASONS)[number];

/** One frame of a stack. Addresses are those of the process. */
export interface Frame {
  /** Where it is: for callers the return address, just behind the call. */
  readonly pc: number;
  /** Address to look up in tables and debug information: `pc − 1` in callers, so that it lies in the call. */
  readonly lookupAddress: number;
  /** Canonical frame address; undefined where the rules of the frame could not give one. */
  readonly cfa: number | undefined;
  /** `signal`: the trampoline between a signal handler and what it interrupted. */
  readonly kind: "normal" | "signal";
  readonly foundBy: FoundBy;
  readonly module: Module | undefined;
  /** The return address that led here had been signed (pointer authentication). */
  readonly wasSigned: boolean;
  /** Registers in this frame, as far as they are known; only if asked for. */
  readonly registers: Registers | undefined;
}

/** A stack, innermost frame first. */
export interface UnwoundStack {
  readonly frames: readonly Frame[];
  readonly end: EndReason;
}
