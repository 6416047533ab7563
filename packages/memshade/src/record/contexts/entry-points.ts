import type { WasmModule } from "../../code/wasm/index.ts";
import { findReferences } from "../rewrite/facts/function-references.ts";
import type { ModuleScan } from "../rewrite/facts/module-scan.ts";

/** Functions by which the host may enter a module, as far as they matter to the user of this class. */
export class EntryPoints {
  /**
   * Functions that the host may call: exports, functions with reachable references, and the start function. Their
   * indices lead to a wrapper; the module's own direct calls bypass it.
   */
  readonly entered: ReadonlySet<number>;
  /** Defined functions that can be called through a table or a reference. */
  readonly referenced: readonly number[];
  /** True if calls through tables and references may reach a wrapper or leave the module. */
  readonly hostMayCallReferences: boolean;
  /**
   * Functions that get a wrapper if every entry must be observed. Calls by reference then either always or never reach
   * a wrapper, so a call that did not has left the module.
   */
  readonly wrapped: ReadonlySet<number>;
  readonly #references: ReadonlySet<number>;

  /** `matters`: true if the caller of a function matters. */
  constructor(module: WasmModule, scan: ModuleScan, matters: (index: number) => boolean = () => true) {
    const { functions, reachable } = findReferences(module, scan);
    const isOwn = (index: number): boolean => index >= module.importedFunctionCount && matters(index);
    const entered = new Set<number>();
    for (const { kind, index } of module.exports) if (kind === "function" && isOwn(index)) entered.add(index);
    if (module.start !== undefined && isOwn(module.start)) entered.add(module.start);
    this.#references = functions;
    this.referenced = [...functions].filter(isOwn);
    if (reachable) for (const index of this.referenced) entered.add(index);
    this.entered = entered;
    const leadsToWrapper = this.referenced.some((index) => entered.has(index));
    this.wrapped = leadsToWrapper ? new Set([...entered, ...this.referenced]) : entered;
    // The caller of a wrapper inside the module must set the host word, as for a call out of the module.
    this.hostMayCallReferences = reachable || leadsToWrapper;
  }

  isReferenced(index: number): boolean {
    return this.#references.has(index);
  }
}
