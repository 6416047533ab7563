const FLAG = "experimental-wasm-branch-hinting";
/** Versions of Node whose engine reads branch hints only if this flag is set; later ones always do. */
const FIRST_VERSION = 22;
const LAST_VERSION = 24;

/**
 * Runs what compiles an instrumented module, or begins to, and lets the engine take the hints in it. The engine keeps
 * with the module whether it may, so the flag need not stay set: engines refuse code that was cached under other flags.
 */
export function withBranchHints<T>(compile: () => T): T {
  const process = globalThis.process as NodeJS.Process | undefined;
  const version = Number.parseInt(process?.versions?.node ?? "", 10);
  const isSetAnyway = process?.execArgv?.some((option) => option.replaceAll("_", "-") === `--${FLAG}`);
  if (!(version >= FIRST_VERSION && version <= LAST_VERSION) || isSetAnyway) return compile();
  const { setFlagsFromString } = (process as NodeJS.Process).getBuiltinModule("node:v8");
  setFlagsFromString(`--${FLAG}`);
  try {
    return compile();
  } finally {
    setFlagsFromString(`--no-${FLAG}`);
  }
}
