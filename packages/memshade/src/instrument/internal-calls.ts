import { readU32Leb } from "../bytes/leb128.ts";
import { type FunctionBody, IMMEDIATE_KIND, opcodeId, opcodeIdAt, skipImmediates, skipOpcode } from "../wasm/index.ts";
import { type Insertions, InsertionKind } from "./insertions.ts";

const CALL = opcodeId("call");
const RETURN_CALL = opcodeId("return_call");

/** Sends the allocator's calls of its own functions to their original bodies, so that one request counts once. */
export function redirectInternalCalls(
  bytes: Uint8Array,
  body: FunctionBody,
  originals: ReadonlyMap<number, number>,
  insertions: Insertions,
): void {
  for (let pos = body.codeStart; pos < body.end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (op === CALL || op === RETURN_CALL) {
      const original = originals.get(readU32Leb(bytes, immediates));
      const kind = op === CALL ? InsertionKind.ReplaceByCall : InsertionKind.ReplaceByTailCall;
      if (original !== undefined) insertions.add(pos, kind, next - pos, original);
    }
    pos = next;
  }
}
