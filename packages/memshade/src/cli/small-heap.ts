/** First version of Node with an engine that has these flags. */
const FIRST_KNOWN_VERSION = 24;

/**
 * Reduces the engine's memory for commands whose data is in arrays outside of the heap: the young generation
 * does not grow, one compiler is left out, and functions are compiled one at a time. These three would take a
 * tenth of the memory.
 */
export function keepHeapSmall(): void {
  if (Number.parseInt(process.versions.node, 10) < FIRST_KNOWN_VERSION) return;
  // Flushed first, because the cached code is shared with commands that run without these flags.
  process.getBuiltinModule("node:module").flushCompileCache();
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--no-maglev");
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-concurrent-recompilation");
}
