import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import { findReach } from "../../tools/heap/read/reach/look-through.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import { isWasm, traceBelow } from "./host-trace.ts";

/**
 * Returns the names of this thread's WebAssembly frames, innermost first. A frame without a name is undefined. Returns
 * undefined if the engine gives no trace.
 */
export function wasmFrames(): (string | undefined)[] | undefined {
  const trace = traceBelow(wasmFrames, Number.POSITIVE_INFINITY);
  return trace?.frames.filter(({ script }) => isWasm(script)).map((frame) => frame.describe().name);
}

/** Functions on the stack of a program that exits after its main function has returned. */
const START_FRAMES = /^(.*\.)?(_start|_start\.command_export|exit|_Exit|__wasi_proc_exit|proc_exit)$/;
/** Largest number of such frames: `_start` behind its wrapper, and the functions that end the program. */
const MOST_START_FRAMES = 4;

/**
 * True for the frames of a program whose main function has returned. Names are compared; without names, the number of frames
 * counts.
 */
export function isAtStart(frames: readonly (string | undefined)[] | undefined): boolean {
  if (frames === undefined) return false;
  const names = frames.filter((name) => name !== undefined);
  return names.length > 0
    ? names.every((name) => START_FRAMES.test(name))
    : frames.length <= MOST_START_FRAMES;
}

/**
 * Finds the live blocks of an instance of this thread that can still be reached. The JavaScript host may hold their
 * addresses.
 */
export function findReachNow(
  exports: WebAssembly.Exports,
  info: InstrumentedInfo,
  original: Uint8Array | undefined,
): KnownReach | undefined {
  return findReach(exports, info, { inside: wasmFrames()?.length !== 0, hostMayHold: true, original });
}
