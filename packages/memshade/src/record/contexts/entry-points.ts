import type { WasmModule } from "../../code/wasm/index.ts";
import { findReferences } from "../rewrite/facts/function-references.ts";
import type { ModuleScan } from "../rewrite/facts/module-scan.ts";

/** Where whoever holds a module may enter it, as far as it matters to whoever asks. */
export class EntryPoints {
  /**
   * Functions that the host may call: exports, those whose references it can get at, and the start function. They are
   * entered through a wrapper, which stands wherever they can be seen; the module's own direct calls go past it.
   */
  readonly entered: ReadonlySet<number>;
  /** Functions of the module, besides imported ones, that can be called through a table or a reference. */
  readonly referenced: readonly number[];
  /** Whether calls through tables and references may lead through a wrapper, or out of the module. */
  readonly hostMayCallReferences: boolean;
  /**
   * Those that get a wrapper where every entry is to be seen: a call by reference leads through one always or never, so one
   * that does not has left the module.
   */
  readonly wrapped: ReadonlySet<number>;
  readonly #references: ReadonlySet<number>;

  /** `matters`: whether it matters who called a function. */
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
    // Whoever calls a wrapper from inside has to say where it is, as for a call out of the module.
    this.hostMayCallReferences = reachable || leadsToWrapper;
  }

  /** Whether a function can be called through a table or a reference. */
  isReferenced(index: number): boolean {
    return this.#references.has(index);
  }
}
