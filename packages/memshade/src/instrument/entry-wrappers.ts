import { sizeOfU32Leb, writeU32Leb } from "../bytes/leb128.ts";
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
 * Bodies that take the place of functions which can be called from outside: whoever enters the module starts where the
 * last call out of it left the shadow stack, and leaves it as it was, also by an exception. (A trap cannot be caught.)
 */
export class EntryWrappers {
  readonly #around: WrapperSurroundings;
  /** What stands before and behind the index of the function called: the same for all functions of a type. */
  readonly #parts = new Map<FuncType, { before: Uint8Array; after: Uint8Array }>();

  constructor(around: WrapperSurroundings) {
    this.#around = around;
  }

  /** Body of the wrapper around function `target` of type `type`. */
  body(target: number, type: FuncType): Uint8Array {
    let parts = this.#parts.get(type);
    if (parts === undefined) {
      parts = { before: this.#before(type), after: this.#after(type) };
      this.#parts.set(type, parts);
    }
    const { before, after } = parts;
    const bytes = new Uint8Array(before.length + sizeOfU32Leb(target) + after.length);
    bytes.set(before);
    bytes.set(after, writeU32Leb(bytes, before.length, target));
    return bytes;
  }

  #before(type: FuncType): Uint8Array {
    const { stackGlobal, hostGlobal, catchesHostExceptions: guarded, resultsType } = this.#around;
    const saved = type.params.length;
    const body = new BodyBuilder([I32]);
    body.op("global.get", hostGlobal).op("local.tee", saved).op("global.set", stackGlobal);
    if (guarded && type.results.length > 1) body.openTyped("try", resultsType(type));
    else if (guarded) body.open("try", type.results[0]);
    for (let i = 0; i < type.params.length; i++) body.op("local.get", i);
    return body.op("call").unfinished();
  }

  #after(type: FuncType): Uint8Array {
    const { stackGlobal, hostGlobal, catchesHostExceptions: guarded } = this.#around;
    const saved = type.params.length;
    const body = new BodyBuilder();
    if (guarded) {
      body.op("catch_all").op("local.get", saved).op("global.set", hostGlobal);
      body.op("local.get", saved).op("global.set", stackGlobal);
      body.op("rethrow", 0).end();
    }
    body.op("local.get", saved).op("global.set", hostGlobal);
    body.op("local.get", saved).op("global.set", stackGlobal);
    return body.end().code();
  }
}
