import { importsOf, type WasmModule } from "../wasm/index.ts";
import { functionsReaching, recursiveComponents } from "./call-graph.ts";
import { type CallPlan, CallTreatment } from "./call-plan.ts";
import type { AllocatorPlan } from "./find-allocator/plan.ts";
import { findReferences } from "./function-references.ts";
import { HookedCalls } from "./hooked-calls.ts";
import { FunctionFact, type ModuleScan } from "./module-scan.ts";

/** Imports of these modules never call back into the program. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

/**
 * Frames around the calls below which an allocation can happen. Calls inside a recursive component keep their
 * caller's frame, so recursion has one context however deep it goes.
 */
export class ContextPlan extends HookedCalls implements CallPlan {
  readonly #imported: number;
  readonly #reaches: Uint8Array;
  readonly #component: Int32Array;
  readonly #siteOf: (codeOffset: number) => number;
  readonly #hostMayCallReferences: boolean;
  readonly #referenced: ReadonlySet<number>;

  constructor(
    module: WasmModule,
    scan: ModuleScan,
    allocator: AllocatorPlan,
    siteOf: (codeOffset: number) => number,
  ) {
    super(module, allocator);
    this.#imported = module.importedFunctionCount;
    this.#siteOf = siteOf;
    this.#component = recursiveComponents(module, scan);
    const targets = allocator.functions.filter(({ kind }) => kind !== "release").map(({ index }) => index);
    if (targets.length > 0) {
      importsOf(module, "function").forEach((entry, index) => {
        if (!NEVER_COMES_BACK.has(entry.module)) targets.push(index);
      });
      scan.facts.forEach((facts, defined) => {
        if (facts & FunctionFact.HasIndirectCall) targets.push(defined + this.#imported);
      });
    }
    this.#reaches = functionsReaching(
      module,
      scan,
      targets,
      // What the allocator asks of the host (memory, or to end it all) allocates nothing.
      (caller, callee) => callee < this.#imported && this.isInternal(caller),
    );
    const references = findReferences(module, scan);
    this.#referenced = references.functions;
    const exported = new Set<number>();
    for (const { kind, index } of module.exports)
      if (kind === "function" && index >= this.#imported && this.reaches(index)) exported.add(index);
    const referenced = [...references.functions].filter(
      (index) => index >= this.#imported && this.reaches(index),
    );
    // A wrapper is a frame that stays: chains of indirect tail calls must not go through it.
    const tailCalls = scan.facts.some((facts) => (facts & FunctionFact.HasIndirectTailCall) !== 0);
    if (tailCalls) {
      for (const index of referenced) if (exported.delete(index)) this.exportedApart.add(index);
    } else if (references.reachable) for (const index of referenced) exported.add(index);
    this.entered = exported;
    // Whoever calls a wrapper from inside has to say where it is, as for a call out of the module.
    this.#hostMayCallReferences = references.reachable || referenced.some((index) => exported.has(index));
  }

  /**
   * Functions that whoever holds the module may call: exports, and those whose references the host can get at. They
   * are entered through a wrapper; the module's own direct calls go past it.
   */
  readonly entered: ReadonlySet<number>;

  /** Exported functions that keep their place and are exported through a wrapper elsewhere. */
  readonly exportedApart = new Set<number>();

  /** Whether a function can be called through a table or a reference. */
  isReferenced(index: number): boolean {
    return this.#referenced.has(index);
  }

  /** Whether an allocation can happen while the function runs. */
  reaches(index: number): boolean {
    return this.#reaches[index] === 1;
  }

  override hasFrames(caller: number): boolean {
    return this.#reaches[caller] === 1 && !this.isInternal(caller);
  }

  override treatment(caller: number, callee: number, tail: boolean): number {
    if (!this.hasFrames(caller)) return CallTreatment.None;
    const folded = this.isWrapper(caller);
    if (callee < 0) {
      if (this.#hostMayCallReferences) return tail || folded ? CallTreatment.KeepHost : CallTreatment.Host;
      return tail || folded ? CallTreatment.Keep : CallTreatment.Push;
    }
    if (this.#reaches[callee] === 0) return CallTreatment.None;
    if (this.isInternal(callee) && !this.isHooked(callee)) return CallTreatment.None;
    if (callee < this.#imported) return tail ? CallTreatment.KeepHost : CallTreatment.Host;
    return folded || this.#recursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }

  override siteOf(codeOffset: number): number {
    return this.#siteOf(codeOffset);
  }

  #recursive(caller: number, callee: number): boolean {
    const component = this.#component[caller - this.#imported];
    return component >= 0 && component === this.#component[callee - this.#imported];
  }
}
