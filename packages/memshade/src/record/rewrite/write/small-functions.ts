import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import type { AppendedFunctions } from "./appended-functions.ts";
import type { FunctionWriter } from "./function-writer.ts";

/** Bodies of fewer bytes are small: `kSmallFunctionThreshold` in V8's module decoder. */
const SMALL_BYTES = 50;
/** Engines accept no more functions in a module. */
const MOST_FUNCTIONS = 1_000_000;
/** No locals, `end`. */
const EMPTY_BODY = Uint8Array.of(0, Op.END);

/**
 * Appends empty functions, behind all others, until half of the module's are small. V8 then inlines up to 7,000
 * bytes of what a hot function calls; where a quarter and less are small, 700, for the compiler seems to have inlined already
 * (`BudgetScaleFactor` in its `InliningTree`). Rewriting makes small functions large, and has them call small ones.
 */
export function addSmallFunctions(
  appended: AppendedFunctions,
  writer: FunctionWriter,
  imported: number,
): void {
  const { bodies } = writer;
  let count = 0;
  let small = 0;
  for (let at = 0; at < bodies.length; count++) {
    const length = readU32Leb(bodies, at);
    at = skipLeb32(bodies, at) + length;
    if (length < SMALL_BYTES) small++;
  }
  const missing = Math.min(count - 2 * small, MOST_FUNCTIONS - imported - count);
  if (missing <= 0) return;
  const type = appended.typeIndex([], []);
  for (let i = 0; i < missing; i++) {
    appended.add(type, () => EMPTY_BODY);
    writer.writeBody(EMPTY_BODY);
  }
}
