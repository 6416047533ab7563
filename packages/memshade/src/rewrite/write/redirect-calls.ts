import { readU32Leb } from "../../bytes/leb128.ts";
import {
  type FunctionBody,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
} from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";
import type { CallTargets } from "../walk/call-targets.ts";
import type { Insertions } from "./insertions.ts";
import { callOf } from "./replacements.ts";

/** Sends the calls of a function that is not walked to where they lead now, as those of the allocator. */
export function redirectCalls(
  bytes: Uint8Array,
  body: FunctionBody,
  calls: CallTargets,
  caller: number,
  insertions: Insertions,
): void {
  for (let pos = body.codeStart; pos < body.end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (op === Op.CALL || op === Op.RETURN_CALL) {
      const callee = readU32Leb(bytes, immediates);
      const target = calls.target(caller, callee);
      if (target !== callee) insertions.replace(pos, next, callOf(target, op));
    }
    pos = next;
  }
}
