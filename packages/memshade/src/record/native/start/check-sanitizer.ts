import { UserError } from "../../../ground/bytes/errors.ts";
import type { NativeProgram } from "./check-program.ts";
import { dynamicSymbols } from "./dynamic-symbols.ts";

/**
 * Sanitizers by the first function that their code calls. Each has a shadow of all memory at fixed addresses.
 */
const SANITIZERS: ReadonlyMap<string, string> = new Map([
  ["__asan_init", "AddressSanitizer"],
  ["__hwasan_init", "HWAddressSanitizer"],
  ["__msan_init", "MemorySanitizer"],
  ["__tsan_init", "ThreadSanitizer"],
]);
/** Function of the sanitizer that, as a library, does not start behind a preloaded object. */
const FIRST = "__asan_init";

/**
 * Checks that a program's sanitizer does not conflict with the recording.
 * @param hasTool a tool's code is to be inserted
 * @throws UserError with the reason if it does
 */
export function checkSanitizer({ file, object }: NativeProgram, hasTool: boolean): void {
  const { defined, wanted } = dynamicSymbols(object);
  for (const [init, name] of SANITIZERS) {
    const isRefused = hasTool ? defined.has(init) || wanted.has(init) : wanted.has(init) && init === FIRST;
    if (!isRefused) continue;
    const why = hasTool ? "which uses the addresses that --tool needs" : "whose library must be loaded first";
    throw new UserError(`${file}: it was built with ${name}, ${why}; build it without -fsanitize`);
  }
}
