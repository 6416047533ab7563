import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import { lookThrough } from "../../tools/heap/read/reach/look-through.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import { isWasm, traceBelow } from "./host-trace.ts";

/** How many frames of WebAssembly this thread is in; endlessly many where the engine does not tell. */
export function wasmFrames(): number {
  const trace = traceBelow(wasmFrames, Number.POSITIVE_INFINITY);
  return trace?.frames.filter(({ script }) => isWasm(script)).length ?? Number.POSITIVE_INFINITY;
}

/** Which live blocks of an instance of this thread can still be reached. Its host is JavaScript, which may have their addresses. */
export function lookThroughNow(exports: WebAssembly.Exports, info: InstrumentedInfo): KnownReach | undefined {
  return lookThrough(exports, info, { inside: wasmFrames() > 0, hostMayHold: true });
}
