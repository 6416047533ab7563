import { readFileSync } from "node:fs";
import { UserError } from "../../../ground/bytes/errors.ts";
import { NO_ROOM } from "../instance/instantiation-observer.ts";

/**
 * Returns an error if the engine had no address space for a memory.
 * @param thrown the engine's message
 * @returns undefined if addresses are not limited, or another error was thrown
 */
export function addressShortage(thrown: string, limit = addressLimit()): UserError | undefined {
  if (limit === undefined || !NO_ROOM.test(thrown)) return undefined;
  return new UserError(
    `the limit ulimit -v is ${limit} bytes, too few addresses for the memories of a profiled WebAssembly module, which reserve the room to grow; raise it`,
  );
}

/** Returns the limit in bytes; undefined if there is none. */
function addressLimit(): number | undefined {
  try {
    const [, soft] = /^Max address space +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    // The file may be hidden, and other systems do not have it.
    return undefined;
  }
}
