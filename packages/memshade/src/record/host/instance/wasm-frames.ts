import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import { lookThrough } from "../../tools/heap/read/reach/look-through.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import { isWasm, traceBelow } from "./host-trace.ts";

/**
 * The frames of WebAssembly that this thread is in, innermost first: their names, as far as they have some. Undefined where the engine
 * does not tell.
 */
export function wasmFrames(): (string | undefined)[] | undefined {
  const trace = traceBelow(wasmFrames, Number.POSITIVE_INFINITY);
  return trace?.frames.filter(({ script }) => isWasm(script)).map((frame) => frame.describe().name);
}

/** What is left on the stack of a program that ends itself when its main function has returned. */
const START_FRAMES = /^(.*\.)?(_start|_start\.command_export|exit|_Exit|__wasi_proc_exit|proc_exit)$/;
/** They are so many: `_start` behind its wrapper, and the functions that end the program. */
const MOST_START_FRAMES = 4;

/** Whether these are the frames of a program whose main function has returned, as far as they have names; else by their number. */
export function isAtStart(frames: readonly (string | undefined)[] | undefined): boolean {
  if (frames === undefined) return false;
  const names = frames.filter((name) => name !== undefined);
  return names.length > 0
    ? names.every((name) => START_FRAMES.test(name))
    : frames.length <= MOST_START_FRAMES;
}

/** Which live blocks of an instance of this thread can still be reached. Its host is JavaScript, which may have their addresses. */
export function lookThroughNow(
  exports: WebAssembly.Exports,
  info: InstrumentedInfo,
  original: Uint8Array | undefined,
): KnownReach | undefined {
  return lookThrough(exports, info, { inside: wasmFrames()?.length !== 0, hostMayHold: true, original });
}
