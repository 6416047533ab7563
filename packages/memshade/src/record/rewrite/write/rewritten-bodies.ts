import {
  type FunctionBody,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../ground/bytes/leb128.ts";
import { FunctionLocals } from "../facts/function-locals.ts";
import { FunctionFact, type ModuleScan } from "../facts/module-scan.ts";
import type { CodePart } from "../tool.ts";
import type { CallTargets, FunctionWalker } from "../walk/function-walker.ts";
import type { FunctionWriter } from "./function-writer.ts";
import { callOf, type Insertions } from "./insertions.ts";
import { noTemporaries } from "./temporaries.ts";

export interface BodySurroundings {
  module: WasmModule;
  scan: ModuleScan;
  insertions: Insertions;
  walker: FunctionWalker;
  writer: FunctionWriter;
  partOf(index: number): CodePart;
  /** True if all code is followed like the program's, including the allocator's. */
  isAllProgram: boolean;
}

const INTERESTING =
  FunctionFact.HasAccess | FunctionFact.HasCall | FunctionFact.Grows | FunctionFact.HasObjects;

/**
 * Bodies of the code section. A body is rewritten in place. If other code must take its index, it is moved after the
 * module's own functions, so that every call still passes the new code:
 *
 *   entered from outside   old index: entry wrapper → moved body
 *   allocation function    old index: hook → original body, which the allocator's own calls reach directly
 *   both                   old index: entry wrapper → hook → original body
 */
export class RewrittenBodies {
  readonly #surroundings: BodySurroundings;
  readonly #locals: FunctionLocals;
  /** Bodies at the old indices of moved functions. */
  readonly #replacements = new Map<number, () => Uint8Array>();
  /** Functions that stay unchanged because engines would reject them with their insertions. */
  readonly leftAlone = new Set<number>();

  constructor(surroundings: BodySurroundings) {
    this.#surroundings = surroundings;
    this.#locals = new FunctionLocals(surroundings.module);
  }

  replacementOf(index: number): (() => Uint8Array) | undefined {
    return this.#replacements.get(index);
  }

  /** Replaces the body of a function. `body` is called when the bodies are written. */
  replace(index: number, body: () => Uint8Array): void {
    this.#replacements.set(index, body);
  }

  write(): void {
    const { module, scan, writer } = this.#surroundings;
    module.bodies.forEach((body, defined) => {
      const index = module.importedFunctionCount + defined;
      const replacement = this.#replacements.get(index);
      if (replacement !== undefined) writer.writeBody(replacement());
      else if ((scan.facts[defined] & INTERESTING) === 0 && !this.#setsFollowedGlobal(body))
        writer.copyBody(body);
      else this.rewrite(index, writer);
    });
  }

  rewrite(index: number, writer: FunctionWriter, part: CodePart = this.#surroundings.partOf(index)): void {
    const { module, scan, insertions, walker, isAllProgram } = this.#surroundings;
    const defined = index - module.importedFunctionCount;
    const body = module.bodies[defined];
    const locals = this.#locals.typesOf(index);
    insertions.clear();
    let temporaries = noTemporaries();
    if (part === "allocator" && !isAllProgram && !walker.followsAllocator)
      redirectCalls(module.bytes, body, walker.calls, index, insertions);
    else
      temporaries = walker.walk({
        index,
        codeStart: body.codeStart,
        end: body.end,
        locals,
        hasLoops: (scan.facts[defined] & FunctionFact.HasLoop) !== 0,
        part: isAllProgram ? "program" : part,
      });
    if (insertions.length === 0) writer.copyBody(body);
    else if (!writer.writeRewritten(body, locals.length, temporaries)) this.leftAlone.add(index);
  }

  /**
   * True if a function sets a followed global. A host may move the stack pointer by a function that does nothing else.
   */
  #setsFollowedGlobal(body: FunctionBody): boolean {
    const { module, walker } = this.#surroundings;
    if (walker.followedGlobals.size === 0) return false;
    // Most functions do not contain this byte.
    if (!module.bytes.subarray(body.codeStart, body.end).includes(Op.GLOBAL_SET)) return false;
    const { bytes } = module;
    for (let at = body.codeStart; at < body.end; ) {
      const id = opcodeIdAt(bytes, at);
      const immediates = skipOpcode(bytes, at);
      if (id === Op.GLOBAL_SET && walker.followedGlobals.has(readU32Leb(bytes, immediates))) return true;
      at = skipImmediates(bytes, immediates, IMMEDIATE_KIND[id]);
    }
    return false;
  }
}

/** Redirects the calls of a function that is not walked, such as the allocator's. */
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
