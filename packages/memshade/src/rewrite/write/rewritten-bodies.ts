import { type HeapRuntime, hookBody } from "../../allocator/allocation-hooks.ts";
import { busyHooks } from "../../allocator/busy-hooks.ts";
import type { AllocatorPlan } from "../../allocator/find/plan.ts";
import type { HookedCalls } from "../../allocator/hooked-calls.ts";
import { redirectInternalCalls } from "../../allocator/internal-calls.ts";
import type { EntryPoints } from "../../contexts/entry-points.ts";
import {
  type FunctionBody,
  functionType,
  functionTypeIndex,
  iterateOperators,
  type ValType,
  type WasmModule,
} from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";
import { FunctionLocals } from "../facts/function-locals.ts";
import { FunctionFact, type ModuleScan } from "../facts/module-scan.ts";
import type { AllocationListeners } from "../tool.ts";
import type { FunctionWalker } from "../walk/function-walker.ts";
import type { AppendedFunctions } from "./appended-functions.ts";
import { EntryWrappers, type FollowedCalls } from "./entry-wrappers.ts";
import type { FunctionWriter } from "./function-writer.ts";
import type { Insertions } from "./insertions.ts";
import { noTemporaries } from "./temporaries.ts";

export interface BodySurroundings {
  module: WasmModule;
  scan: ModuleScan;
  allocator: AllocatorPlan;
  appended: AppendedFunctions;
  insertions: Insertions;
  walker: FunctionWalker;
  writer: FunctionWriter;
  includeAllocator: boolean;
}

const INTERESTING = FunctionFact.HasAccess | FunctionFact.HasCall | FunctionFact.Grows;

/**
 * The code section's bodies: rewritten in place, or moved behind the module's own functions where something else has
 * to stand at the old index, so that every way to reach a function leads through it:
 *
 *   entered from outside   old index: entry wrapper → moved body
 *   allocation function    old index: hook → original body, which the allocator's own calls reach directly
 *   both                   old index: entry wrapper → hook → original body
 */
export class RewrittenBodies {
  readonly #around: BodySurroundings;
  readonly #internals: Set<number>;
  readonly #wrappers: Set<number>;
  readonly #locals: FunctionLocals;
  /** What stands at the old index of a function that was moved. */
  readonly #replacements = new Map<number, () => Uint8Array>();
  /** Functions that stay as they are, for engines would not accept them with what belongs into them. */
  readonly leftAlone = new Set<number>();
  /** Functions exported in place of others. */
  readonly exportedInstead = new Map<number, number>();

  constructor(around: BodySurroundings) {
    this.#around = around;
    this.#internals = new Set(around.allocator.internals);
    this.#wrappers = new Set(around.allocator.wrappers);
    this.#locals = new FunctionLocals(around.module);
  }

  /** Hooks the allocation functions; calls from within the allocator go past the hooks. */
  hookAllocator(
    plan: HookedCalls,
    memory: number,
    runtime: HeapRuntime | undefined,
    listeners: readonly AllocationListeners[],
  ): void {
    const { module, scan, appended, allocator, writer } = this.#around;
    const { stackGlobal } = writer.targets;
    for (const helper of [...allocator.sharedHelpers, ...allocator.sharedWrappers])
      plan.keepOriginal(
        helper,
        appended.addWritten(
          functionTypeIndex(module, helper),
          (to) => plan.inTwin(() => this.#rewrite(helper, to, true)),
          helper,
        ),
      );
    const busy = busyHooks(module, scan, allocator);
    for (const hooked of allocator.functions) {
      const { index } = hooked;
      const original = appended.addWritten(
        functionTypeIndex(module, index),
        (to) => this.#rewrite(index, to, true),
        index,
      );
      plan.keepOriginal(index, original);
      const body = module.bodies[index - module.importedFunctionCount];
      const self = body.codeStart - module.codePayloadStart;
      this.#replacements.set(index, () =>
        hookBody(hooked, functionType(module, index), {
          original,
          self,
          stackGlobal,
          memory,
          runtime,
          addTwin: busy.has(index)
            ? (body) => appended.add(functionTypeIndex(module, index), body, index)
            : undefined,
          listeners,
        }),
      );
    }
  }

  /** Gives the functions that can be entered from outside their wrappers, one for all that follow calls. */
  wrapEntries(plan: HookedCalls, points: readonly EntryPoints[], followed: readonly FollowedCalls[]): void {
    const { module, appended } = this.#around;
    const catchesHostExceptions = module.imports.some(
      ({ kind, module: from }) => kind === "function" && !from.startsWith("wasi_"),
    );
    const resultsType = ({ results }: { results: ValType[] }) => appended.typeIndex([], results);
    const around = { followed, catchesHostExceptions, resultsType };
    const exported = new EntryWrappers({ ...around, byReference: false });
    const referenced = new EntryWrappers({ ...around, byReference: true });
    for (const index of new Set(points.flatMap(({ entered }) => [...entered]))) {
      const hook = this.#replacements.get(index);
      if (hook === undefined && this.#internals.has(index)) continue;
      const moved =
        hook === undefined
          ? appended.addWritten(functionTypeIndex(module, index), (to) => this.#rewrite(index, to), index)
          : appended.add(functionTypeIndex(module, index), hook, index);
      plan.move(index, moved);
      const type = functionType(module, index);
      if (type.results.length > 1) resultsType(type);
      const wrappers = points[0].isReferenced(index) ? referenced : exported;
      this.#replacements.set(index, () => wrappers.body(moved, type));
    }
    for (const index of new Set(points.flatMap(({ exportedApart }) => [...exportedApart]))) {
      const type = functionType(module, index);
      if (type.results.length > 1) resultsType(type);
      const body = () => exported.body(index, type);
      const wrapper = appended.add(functionTypeIndex(module, index), body, index);
      this.exportedInstead.set(index, wrapper);
    }
  }

  /** Writes the module's own bodies, in their order. */
  write(): void {
    const { module, scan, writer } = this.#around;
    module.bodies.forEach((body, defined) => {
      const index = module.importedFunctionCount + defined;
      const replacement = this.#replacements.get(index);
      if (replacement !== undefined) writer.writeBody(replacement());
      else if ((scan.facts[defined] & INTERESTING) === 0 && !this.#setsFollowedGlobal(body))
        writer.copyBody(body);
      else this.#rewrite(index, writer);
    });
  }

  /** Hosts move the stack pointer by functions that do nothing else. */
  #setsFollowedGlobal(body: FunctionBody): boolean {
    const { module, walker } = this.#around;
    if (walker.followedGlobals.size === 0) return false;
    // Most functions have no such byte at all.
    if (!module.bytes.subarray(body.codeStart, body.end).includes(Op.GLOBAL_SET)) return false;
    for (const { name, immediates } of iterateOperators(module, body))
      if (name === "global.set" && walker.followedGlobals.has((immediates as { index: number }).index))
        return true;
    return false;
  }

  #rewrite(index: number, writer: FunctionWriter, internal = this.#internals.has(index)): void {
    const { module, scan, insertions, walker, includeAllocator } = this.#around;
    const defined = index - module.importedFunctionCount;
    const body = module.bodies[defined];
    const locals = this.#locals.of(index);
    insertions.clear();
    let temporaries = noTemporaries();
    if (internal && !includeAllocator && !walker.followsAllocator)
      redirectInternalCalls(module.bytes, body, walker.calls, index, insertions);
    else {
      const own = internal ? "allocator" : this.#wrappers.has(index) ? "wrapper" : "program";
      const part = includeAllocator ? "program" : own;
      const hasLoops = (scan.facts[defined] & FunctionFact.HasLoop) !== 0;
      temporaries = walker.walk(index, body.codeStart, body.end, locals, hasLoops, part);
    }
    if (insertions.length === 0) writer.copyBody(body);
    else if (!writer.writeRewritten(body, locals.length, temporaries)) this.leftAlone.add(index);
  }
}
