import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import type { AppendedFunctions } from "./appended-functions.ts";
import type { FunctionWriter } from "./function-writer.ts";

/** Size below which V8 counts a body as small: `kSmallFunctionThreshold` in its module decoder. */
const SMALL_BYTES = 50;
const MOST_FUNCTIONS = 1_000_000;
const EMPTY_BODY = Uint8Array.of(0, Op.END);

/**
 * Appends empty functions until half of the module's functions are small. V8 then inlines up to 7,000 bytes of a hot
 * function's callees. If at most a quarter are small, the limit is 700 bytes, since the compiler seems to have inlined
 * already (`BudgetScaleFactor` in its `InliningTree`). Rewriting makes small functions large, and adds calls of small
 * ones.
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
