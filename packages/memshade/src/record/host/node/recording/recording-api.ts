import type { Reply } from "./sync-reply.ts";

/** Symbol by which a program that imports memshade finds the recording of its process. */
export const RECORDING_SYMBOL = Symbol.for("memshade.recording");

/** Recording of a hooked process, as one of its threads can reach it. */
export interface HookedRecording {
  /** Writes a dump folder and returns its path. Undefined: the recording is over. */
  dump(): Reply | undefined;
  reset(): void;
}

/** Makes the recording available to `dump()` and `reset()` of the library. */
export function publishRecording(recording: HookedRecording): void {
  Object.defineProperty(globalThis, RECORDING_SYMBOL, {
    value: recording,
    enumerable: false,
    configurable: true,
  });
}

export function findRecording(): HookedRecording | undefined {
  return (globalThis as { [RECORDING_SYMBOL]?: HookedRecording })[RECORDING_SYMBOL];
}
