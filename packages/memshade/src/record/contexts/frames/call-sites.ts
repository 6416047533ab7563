import {
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../ground/bytes/leb128.ts";

const TAIL_CALLS = new Set([Op.RETURN_CALL, Op.RETURN_CALL_INDIRECT, Op.RETURN_CALL_REF]);
const UNNAMED = new Set([Op.CALL_INDIRECT, Op.CALL_REF, Op.RETURN_CALL_INDIRECT, Op.RETURN_CALL_REF]);

/** All call instructions of a module, in code order. */
export interface CallSites {
  length: number;
  offset: number[];
  /** The called function; −1 for a call through a table or a reference. */
  callee: number[];
  isTail: boolean[];
  /** First call of each defined function, and the end of the last. */
  firstOfFunction: Int32Array;
}

export function findCallSites(module: WasmModule): CallSites {
  const { bytes, bodies, codePayloadStart } = module;
  const sites: CallSites = {
    length: 0,
    offset: [],
    callee: [],
    isTail: [],
    firstOfFunction: new Int32Array(bodies.length + 1),
  };
  bodies.forEach((body, defined) => {
    sites.firstOfFunction[defined] = sites.length;
    for (let pos = body.codeStart; pos < body.end; ) {
      const op = opcodeIdAt(bytes, pos);
      const immediates = skipOpcode(bytes, pos);
      const isNamed = op === Op.CALL || op === Op.RETURN_CALL;
      if (isNamed || UNNAMED.has(op)) {
        sites.offset.push(pos - codePayloadStart);
        sites.callee.push(isNamed ? readU32Leb(bytes, immediates) : -1);
        sites.isTail.push(TAIL_CALLS.has(op));
        sites.length++;
      }
      pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    }
  });
  sites.firstOfFunction[bodies.length] = sites.length;
  return sites;
}
