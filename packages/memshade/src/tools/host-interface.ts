/** Slots of the exported table through which a module calls its host: when tables are full, for the time, and at snapshots. */
export const HostSlot = { Flush: 0, Tick: 1, Stack: 2 } as const;

/** Where a module imports its shadow memory from, if its instances share it. */
export const SHADOW_IMPORT = { module: "memshade", field: "memory" } as const;

/** Prefix of everything instrumentation adds to a module's exports. */
export const HIDDEN_EXPORT_PREFIX = "memshade.";

/** Export of an instrumented module that holds its shadow memory. */
export const SHADOW_MEMORY = `${HIDDEN_EXPORT_PREFIX}memory`;
