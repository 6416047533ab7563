import { readFileSync } from "node:fs";
import { UserError } from "../../../ground/bytes/errors.ts";
import { NO_ROOM } from "../instance/instantiation-observer.ts";

/**
 * What is to be said where the engine had no room for a memory.
 *
 * @param thrown the engine's words
 * @returns undefined where addresses are not limited, or something else was thrown
 */
export function addressShortage(thrown: string, limit = addressLimit()): UserError | undefined {
  if (limit === undefined || !NO_ROOM.test(thrown)) return undefined;
  return new UserError(
    `the limit ulimit -v is ${limit} bytes, and each memory of a profiled WebAssembly module reserves the addresses that it may grow to, and fills few of them; raise it`,
  );
}

/** Bytes; undefined for any number of them. */
function addressLimit(): number | undefined {
  try {
    const [, soft] = /^Max address space +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    // Who hides it says nothing of limits, and other systems have no such file.
    return undefined;
  }
}
