/** Node's engine before 24 has other flags. */
const FIRST_KNOWN_VERSION = 24;

/**
 * Keeps the young generation at its first size, leaves out a compiler whose code would soon be replaced, and compiles one
 * function at a time: for commands that keep their data in arrays outside of the heap, where the three are a tenth of the
 * memory that they take.
 */
export function keepHeapSmall(): void {
  if (Number.parseInt(process.versions.node, 10) < FIRST_KNOWN_VERSION) return;
  // Code that was compiled before is kept for other commands too, which run without these flags.
  process.getBuiltinModule("node:module").flushCompileCache();
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--no-maglev");
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-concurrent-recompilation");
}
