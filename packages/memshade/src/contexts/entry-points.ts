import { findReferences } from "../rewrite/facts/function-references.ts";
import { FunctionFact, type ModuleScan } from "../rewrite/facts/module-scan.ts";
import type { WasmModule } from "../wasm/index.ts";

/** Where whoever holds a module may enter it, as far as it matters to what follows its calls. */
export class EntryPoints {
  /**
   * Functions that the host may call: exports, and those whose references it can get at. They are entered through a
   * wrapper; the module's own direct calls go past it.
   */
  readonly entered: ReadonlySet<number>;
  /** Exported functions that keep their place and are exported through a wrapper elsewhere. */
  readonly exportedApart: ReadonlySet<number>;
  /** Whether calls through tables and references may lead through a wrapper, or out of the module. */
  readonly hostMayCallReferences: boolean;
  readonly #referenced: ReadonlySet<number>;

  /** `matters`: whether it matters who called a function. */
  constructor(module: WasmModule, scan: ModuleScan, matters: (index: number) => boolean) {
    const references = findReferences(module, scan);
    this.#referenced = references.functions;
    const imported = module.importedFunctionCount;
    const entered = new Set<number>();
    const apart = new Set<number>();
    for (const { kind, index } of module.exports)
      if (kind === "function" && index >= imported && matters(index)) entered.add(index);
    const referenced = [...references.functions].filter((index) => index >= imported && matters(index));
    // A wrapper is a frame that stays: chains of indirect tail calls must not go through it.
    const tailCalls = scan.facts.some((facts) => (facts & FunctionFact.HasIndirectTailCall) !== 0);
    if (tailCalls) {
      for (const index of referenced) if (entered.delete(index)) apart.add(index);
    } else if (references.reachable) for (const index of referenced) entered.add(index);
    this.entered = entered;
    this.exportedApart = apart;
    // Whoever calls a wrapper from inside has to say where it is, as for a call out of the module.
    this.hostMayCallReferences = references.reachable || referenced.some((index) => entered.has(index));
  }

  /** Whether a function can be called through a table or a reference. */
  isReferenced(index: number): boolean {
    return this.#referenced.has(index);
  }
}
