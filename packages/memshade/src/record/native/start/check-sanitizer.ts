import { UserError } from "../../../ground/bytes/errors.ts";
import type { NativeProgram } from "./check-program.ts";
import { dynamicSymbols } from "./dynamic-symbols.ts";

/** What compilers insert calls of, by the first function that these call. Each keeps a shadow of all memory at addresses of its own. */
const SANITIZERS: ReadonlyMap<string, string> = new Map([
  ["__asan_init", "AddressSanitizer"],
  ["__hwasan_init", "HWAddressSanitizer"],
  ["__msan_init", "MemorySanitizer"],
  ["__tsan_init", "ThreadSanitizer"],
]);
/** The one that does not start behind anything preloaded, where it is a library. */
const FIRST = "__asan_init";

/**
 * Whether a program runs beside what a compiler has inserted into it.
 *
 * @param hasTool a tool's code is to be inserted, too @throws UserError with the reason why not, in one line
 */
export function checkSanitizer({ file, object }: NativeProgram, hasTool: boolean): void {
  const { defined, wanted } = dynamicSymbols(object);
  for (const [init, name] of SANITIZERS) {
    const isRefused = hasTool ? defined.has(init) || wanted.has(init) : wanted.has(init) && init === FIRST;
    if (!isRefused) continue;
    const why = hasTool
      ? "which has the addresses that --tool needs"
      : "which wants to be loaded before all else";
    throw new UserError(`${file}: it was built with ${name}, ${why}; build it without -fsanitize`);
  }
}
