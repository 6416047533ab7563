import { FormatError } from "../../ground/bytes/errors.ts";

/** Flag of a memarg for a memory index that follows. The bits below are the alignment exponent. */
export const MEMARG_HAS_MEMORY = 0x40;

/** First exponent above all alignments; a proposal uses this bit for a memory order. */
export const MEMARG_ORDER = 0x20;

/** Throws for flags beyond an alignment and a memory index, since the following bytes would be misread. */
export function checkMemargFlags(flags: number, offset: number): void {
  if (flags >= MEMARG_HAS_MEMORY * 2)
    throw new FormatError("malformed", offset, "memarg", `unknown flags 0x${flags.toString(16)}`);
  if ((flags & MEMARG_ORDER) !== 0) throw unsupportedOrder(offset, "memarg");
}

/** Returns an error for an access or a fence with a memory order of its own. */
export function unsupportedOrder(offset: number, construct: string): FormatError {
  const detail = "a memory order is given, which probably belongs to relaxed atomics; it is not supported";
  return new FormatError("unsupported", offset, construct, detail);
}
