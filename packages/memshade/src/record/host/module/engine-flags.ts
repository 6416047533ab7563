const BRANCH_HINTS = "experimental-wasm-branch-hinting";
/** Versions of Node whose engine reads branch hints only if this flag is set. Later ones always do. */
const FIRST_VERSION = 22;
const LAST_VERSION = 24;

/**
 * Engine of Node 22. It crashes if a module with several memories directly calls Node's fast functions, such as those
 * of WASI.
 */
const ENGINE_WITHOUT_FAST_CALLS = 12;

/**
 * Runs `compile`, which compiles an instrumented module or starts to, with the engine flags that such modules need. The
 * engine stores with the module whether it may read branch hints, so the flag is reset afterwards: engines reject code
 * that was cached under other flags.
 */
export function withEngineFlags<T>(compile: () => T): T {
  avoidFastCalls();
  const process = globalThis.process as NodeJS.Process | undefined;
  const version = majorOf(process?.versions?.node);
  const isSetAnyway = process?.execArgv?.some(
    (option) => option.replaceAll("_", "-") === `--${BRANCH_HINTS}`,
  );
  if (!(version >= FIRST_VERSION && version <= LAST_VERSION) || isSetAnyway) return compile();
  const { setFlagsFromString } = (process as NodeJS.Process).getBuiltinModule("node:v8");
  setFlagsFromString(`--${BRANCH_HINTS}`);
  try {
    return compile();
  } finally {
    setFlagsFromString(`--no-${BRANCH_HINTS}`);
  }
}

/**
 * Disables fast calls of Node's functions in Node 22. Must be called before an instrumented module is instantiated; the
 * flag stays set, since the engine decides again when it optimizes.
 */
export function avoidFastCalls(): void {
  const process = globalThis.process as NodeJS.Process | undefined;
  if (majorOf(process?.versions?.v8) !== ENGINE_WITHOUT_FAST_CALLS) return;
  process?.getBuiltinModule?.("node:v8").setFlagsFromString("--no-turbo-fast-api-calls");
}

function majorOf(version: string | undefined): number {
  return Number.parseInt(version ?? "", 10);
}
