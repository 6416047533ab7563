import { readFileSync } from "node:fs";
import { UserError } from "../../../ground/bytes/errors.ts";

const GIB = 2 ** 30;

interface Limit {
  /** Name in /proc/PID/limits, and option of ulimit. */
  name: string;
  option: string;
  /** Least number of bytes. */
  bytes: number;
  why: string;
}

const LIMITS: readonly Limit[] = [
  {
    name: "Max address space",
    option: "-v",
    bytes: 7 * GIB,
    why: "recording reserves 6 GiB of addresses beside the program's own, and fills few of them",
  },
  {
    name: "Max file size",
    option: "-f",
    bytes: 4 * GIB + 2 ** 16,
    why: "recording makes a file of 4 GiB, most of which is empty",
  },
];

/**
 * Checks this process's limits, which programs inherit.
 * @param shadowBytes bytes of address space that a tool's code uses
 * @throws UserError if a limit leaves no room to record
 */
export function checkLimits(limits = ownLimits(), shadowBytes = 0): void {
  for (const { name, option, bytes, why } of shadowBytes === 0 ? LIMITS : withShadows(shadowBytes)) {
    const [, soft] = new RegExp(`^${name} +(\\d+) `, "m").exec(limits) ?? [];
    if (soft !== undefined && Number(soft) < bytes)
      throw new UserError(`the limit ulimit ${option} is ${soft} bytes, and ${why}; raise it`);
  }
}

function withShadows(shadowBytes: number): Limit[] {
  const [addresses, ...otherLimits] = LIMITS;
  const tebibytes = Math.ceil(shadowBytes / 2 ** 40);
  const why = `counting accesses reserves ${tebibytes} TiB of addresses beside the program's own, and fills few of them; without --tool, allocations alone are recorded`;
  return [{ ...addresses, bytes: addresses.bytes + shadowBytes, why }, ...otherLimits];
}

function ownLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "latin1");
  } catch {
    // A sandbox hides the file; limits are unknown.
    return "";
  }
}
