import type { Recorder } from "./recorder.ts";

const LOOK_EVERY_MS = 200;
/** In so much time a counter may have wrapped twice. */
const LATE_MS = 1000;

/**
 * Keeps looking at the counters of static data while programs run in other threads, so that none wraps unseen: 2,147,483,648
 * accesses to 8 bytes take longer than from one look to the next. Returns how to stop.
 */
export function watchCounters(recorder: Recorder): () => void {
  let last = performance.now();
  const look = (): void => {
    const now = performance.now();
    recorder.watch(now - last > LATE_MS);
    last = performance.now();
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
