import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import { lookThrough } from "../../tools/heap/read/reach/look-through.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";

/** A frame of WebAssembly in a stack, as engines write it. */
const WASM_FRAME = /wasm-function|wasm:|\[wasm code\]/;

/** The frames of WebAssembly that this thread is in, innermost first, one line each. */
export function wasmFrames(): string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  try {
    return (new Error().stack ?? "").split("\n").filter((line) => WASM_FRAME.test(line));
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** Which live blocks of an instance of this thread can still be reached. Its host is JavaScript, which may have their addresses. */
export function lookThroughNow(exports: WebAssembly.Exports, info: InstrumentedInfo): KnownReach | undefined {
  return lookThrough(exports, info, { inside: wasmFrames().length > 0, hostMayHold: true });
}
