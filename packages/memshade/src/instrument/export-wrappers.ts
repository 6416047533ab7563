import type { FuncType } from "../wasm/index.ts";
import { I32 } from "../wasm/index.ts";
import { BodyBuilder } from "./body-builder.ts";

export interface WrapperSurroundings {
  stackGlobal: number;
  hostGlobal: number;
  /** Whether exceptions of the host may pass through the module: then they are caught on their way and go on. */
  catchesHostExceptions: boolean;
}

/**
 * Body exported in place of a function: whoever enters the module starts where the last call out of it left the shadow
 * stack, and leaves it as it was. Without results or with one, exceptions on their way out restore it too.
 */
export function exportWrapperBody(target: number, type: FuncType, around: WrapperSurroundings): Uint8Array {
  const saved = type.params.length;
  const body = new BodyBuilder([I32]);
  const guarded = around.catchesHostExceptions && type.results.length < 2;
  body.op("global.get", around.hostGlobal).op("local.tee", saved).op("global.set", around.stackGlobal);
  if (guarded) body.open("try", type.results[0]);
  for (let i = 0; i < type.params.length; i++) body.op("local.get", i);
  body.op("call", target);
  if (guarded) {
    body.op("catch_all").op("local.get", saved).op("global.set", around.hostGlobal);
    body.op("local.get", saved).op("global.set", around.stackGlobal);
    body.op("rethrow", 0).end();
  }
  body.op("local.get", saved).op("global.set", around.hostGlobal);
  body.op("local.get", saved).op("global.set", around.stackGlobal);
  return body.finish();
}
