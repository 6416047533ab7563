import { HostSite } from "../contexts/layout.ts";

/**
 * Slots of the exported table through which a module calls its host: when tables are full, for the time, at snapshots, for the stack that
 * entered it, for an object that was chosen, and now and then while it spins for the lock of tables that threads share.
 */
export const HostSlot = { Flush: 0, Tick: 1, Stack: 2, Callers: 3, Spin: 4, Object: 5 } as const;

/**
 * How an instance gets along while another one has the lock: it spins, it may stand still, or it has spun for so long that the other
 * one must be dead, and takes the lock. The global is the host's to set.
 */
export const Waiting = { spins: 0, stands: 1, lost: 2 } as const;

/** Stacks of the host that enter instances with common tables have numbers from multiples of this on. */
export const STACKS_OF_INSTANCE = 2 ** 21;
/** Numbers that are none of stacks: nobody knows which one it is; there was no room for it. */
export const { unknown: UNKNOWN_STACK, beyond: STACK_BEYOND } = HostSite;

/** Where a module imports its shadow memory from, if its instances share it. */
export const SHADOW_IMPORT = { module: "memshade", field: "memory" } as const;

/** Prefix of everything instrumentation adds to a module's exports. */
export const HIDDEN_EXPORT_PREFIX = "memshade.";

/** Export of an instrumented module that holds its shadow memory. */
export const SHADOW_MEMORY = `${HIDDEN_EXPORT_PREFIX}memory`;

// What stands on the shadow stack, for hosts that move it.
export { HostSite, STACK_FRAME_BYTES } from "../contexts/layout.ts";
