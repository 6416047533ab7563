import { funcTypeAt } from "../../wasm/lookups.ts";
import type { ValType } from "../../wasm/types.ts";
import type { BodyLowering } from "./body.ts";

const EMPTY = -64;

/** What the block whose type stands next takes and gives. */
export function decodeBlockType(body: BodyLowering): { params: readonly ValType[]; results: readonly ValType[] } {
  const type = body.reader.s33Leb();
  if (type === EMPTY) return { params: [], results: [] };
  if (type >= 0) {
    const { params, results } = funcTypeAt(body.module.wasm, type);
    for (const one of [...params, ...results]) body.checkType(one);
    return { params, results };
  }
  const result = type + 0x80;
  body.checkType(result);
  return { params: [], results: [result] };
}

