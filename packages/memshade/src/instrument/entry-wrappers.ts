import type { FuncType } from "../wasm/index.ts";
import { I32 } from "../wasm/index.ts";
import { BodyBuilder } from "./body-builder.ts";

export interface WrapperSurroundings {
  stackGlobal: number;
  hostGlobal: number;
  /** Whether exceptions of the host may pass through the module: then they are caught on their way and go on. */
  catchesHostExceptions: boolean;
  /** Index of a type without parameters and with these results. */
  resultsType(type: FuncType): number;
}

/**
 * Body that takes the place of a function that can be called from outside: whoever enters the module starts where the
 * last call out of it left the shadow stack, and leaves it as it was, also by an exception. (A trap cannot be caught.)
 */
export function entryWrapperBody(target: number, type: FuncType, around: WrapperSurroundings): Uint8Array {
  const saved = type.params.length;
  const body = new BodyBuilder([I32]);
  const guarded = around.catchesHostExceptions;
  body.op("global.get", around.hostGlobal).op("local.tee", saved).op("global.set", around.stackGlobal);
  if (guarded && type.results.length > 1) body.openTyped("try", around.resultsType(type));
  else if (guarded) body.open("try", type.results[0]);
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
