import type { Recorder } from "./recorder.ts";

const LOOK_EVERY_MS = 200;
/** Time in which a counter may have wrapped twice. */
const LATE_MS = 1000;

/**
 * Checks the counters of static data periodically while programs run in other threads, so that no wrap is missed:
 * 2,147,483,648 accesses to 8 bytes take longer than the pause between two checks. Returns a function that stops it.
 */
export function watchCounters(recorder: Recorder): () => void {
  let last = performance.now();
  const check = (): void => {
    const now = performance.now();
    recorder.watch(now - last > LATE_MS);
    last = performance.now();
  };
  check();
  const timer = setInterval(check, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
