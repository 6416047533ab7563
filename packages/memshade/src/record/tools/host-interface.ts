import { HostSite } from "../contexts/layout.ts";

/**
 * Slots of the exported table through which a module calls its host. Calls happen when tables are full, for
 * the time, at snapshots, for the stack that entered the module, and for a sampled object. A module that
 * spins for a shared lock calls its host from time to time.
 */
export const HostSlot = { Flush: 0, Tick: 1, Stack: 2, Callers: 3, Spin: 4, Object: 5 } as const;

/**
 * Behavior of an instance while another one has the lock: it spins; it may block; or it has spun so long that
 * the other instance must be dead, and takes the lock. The host sets this global.
 */
export const Waiting = { spins: 0, stands: 1, lost: 2 } as const;

/**
 * Distance between the stack numbers of instances with common tables: those of each start at a multiple of
 * this.
 */
export const STACKS_OF_INSTANCE = 2 ** 21;
/** Numbers for an unknown stack, and for a stack that found no room. */
export const { unknown: UNKNOWN_STACK, beyond: STACK_BEYOND } = HostSite;

/** Import of a module's shadow memory if its instances share it. */
export const SHADOW_IMPORT = { module: "memshade", field: "memory" } as const;

/** Prefix of the exports that instrumentation adds. */
export const HIDDEN_EXPORT_PREFIX = "memshade.";

/** Export of an instrumented module's shadow memory. */
export const SHADOW_MEMORY = `${HIDDEN_EXPORT_PREFIX}memory`;

// Layout of the shadow stack, for hosts that move it.
export { HostSite, STACK_FRAME_BYTES } from "../contexts/layout.ts";
