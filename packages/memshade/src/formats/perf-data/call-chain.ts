import { CONTEXT_HIGH, CONTEXT_KERNEL_LOW, CONTEXT_LOWEST, CONTEXT_USER_LOW } from "./layout.ts";
import { getU64 } from "./words.ts";

/** A call chain as the kernel recorded it, innermost first. */
export interface CallChain {
  /** Addresses in the kernel, in hexadecimal: they do not fit a number. */
  readonly kernel: readonly string[];
  /** Addresses in the program: of the first frame where it was, of others where it goes on. */
  readonly user: readonly number[];
}

export const NO_CALL_CHAIN: CallChain = { kernel: [], user: [] };

/** Splits the words of a call chain at the markers in it. Guests of a hypervisor are left out. */
export function splitCallChain(words: DataView): CallChain {
  if (words.byteLength === 0) return NO_CALL_CHAIN;
  const kernel: string[] = [];
  const user: number[] = [];
  let context: "kernel" | "user" | "other" = "user";
  for (let at = 0; at < words.byteLength; at += 8) {
    const [low, high] = [words.getUint32(at, true), words.getUint32(at + 4, true)];
    if (high === CONTEXT_HIGH && low >= CONTEXT_LOWEST) {
      context = low === CONTEXT_KERNEL_LOW ? "kernel" : low === CONTEXT_USER_LOW ? "user" : "other";
    } else if (context === "kernel") {
      kernel.push((BigInt(high) * 2n ** 32n + BigInt(low)).toString(16));
    } else if (context === "user") {
      user.push(getU64(words, at));
    }
  }
  return { kernel, user };
}
